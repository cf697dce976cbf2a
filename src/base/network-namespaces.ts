/** Network namespaces, which each thread has one of. A socket stays in the one that it was made in, whoever uses it. */
import { closeSync, openSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { addressNumber } from '#base/ip-range.ts'
import type { SocketAddress } from '#base/sockets.ts'
import { systemCall } from '#base/system-calls.ts'

const newNet = 0x40000000
const families = { IPv4: 2, IPv6: 10 }
const kinds = { tcp: 1, udp: 2 }
const closeOnExec = 0o2000000
const socketLevel = 1
const reuseAddress = 2
const backlog = 4096

export const networkNamespaces = {
  /** A new one for this thread, and for the threads and processes that it starts from now on. */
  enterNew(): void {
    systemCall('unshare', newNet)
  },
  enter(descriptor: number): void {
    systemCall('setns', descriptor, newNet)
  },
  /** That of this thread; the caller's to close. */
  openOwn: (): number => openSync('/proc/thread-self/ns/net', 'r'),
  /** That of another process; the caller's to close. */
  openOf: (pid: number): number => openSync(`/proc/${pid}/ns/net`, 'r'),
  close: (descriptor: number): void => closeSync(descriptor),
}

/** A socket in the namespace of this thread that others connect or send to. Throws `SystemCallError`. */
export function boundSocket(kind: 'tcp' | 'udp', { host, port }: SocketAddress): number {
  const family = isIPv6(host) ? families.IPv6 : families.IPv4
  const descriptor = systemCall('socket', family, kinds[kind] | closeOnExec, 0)
  try {
    if (kind === 'tcp') systemCall('setsockopt', descriptor, socketLevel, reuseAddress, Buffer.from([1, 0, 0, 0]), 4)
    const name = Buffer.alloc(family === families.IPv6 ? 28 : 16)
    name.writeUInt16LE(family, 0)
    name.writeUInt16BE(port, 2)
    const address = addressNumber(host).toString(16)
    if (family === families.IPv6) name.write(address.padStart(32, '0'), 8, 'hex')
    else name.write(address.padStart(8, '0'), 4, 'hex')
    systemCall('bind', descriptor, name, name.length)
    if (kind === 'tcp') systemCall('listen', descriptor, backlog)
    return descriptor
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}
