/** A network device whose packets a program reads and writes: what the kernel routes into it comes out here, and the other way round. */
import { closeSync, openSync, read, readSync, writeSync } from 'node:fs'

export type TunDevice = {
  /** Hands the packet back to the kernel, as if it had come in by the device. Dropped where the kernel does not take it. */
  write(packet: Uint8Array): void
  /** Reads no more; the device stays where it was there before. */
  close(): void
}

const setInterface = 0x4004_54can
/** Packets of IP as they are: no frames, and no header of the device's own. */
const flagsTunWithoutHeader = 0x1001
const requestBytes = 40
const nameBytes = 16
const largestPacketBytes = 65_535
const mostAtOnce = 64
const readable = 1

/** Attaches to the device of this name, which is made where it is not there. `onPacket` may keep nothing of what it is given. */
export async function openTunDevice(
  name: string,
  onPacket: (packet: Uint8Array) => void,
  onEnd: (error: Error) => void,
): Promise<TunDevice> {
  const { dlopen } = await import('node:ffi')
  const { functions } = dlopen('libc.so.6', {
    ioctl: { return: 'int32', arguments: ['int32', 'uint64', 'buffer'] },
    poll: { return: 'int32', arguments: ['buffer', 'uint64', 'int32'] },
  })
  const descriptor = openSync('/dev/net/tun', 'r+')
  const request = Buffer.alloc(requestBytes)
  request.write(name, 0, nameBytes - 1, 'latin1')
  request.writeUInt16LE(flagsTunWithoutHeader, nameBytes)
  if (functions.ioctl(descriptor, setInterface, request) !== 0) {
    closeSync(descriptor)
    throw new Error(`the kernel refuses the device ${name} of type tun`)
  }
  const asked = Buffer.alloc(8)
  asked.writeInt32LE(descriptor, 0)
  asked.writeInt16LE(readable, 4)
  const hasMore = () => functions.poll(asked, 1n, 0) === 1 && (asked.readInt16LE(6) & readable) !== 0
  const buffer = Buffer.alloc(largestPacketBytes)
  let isOver = false
  // The first packet is waited for on a thread; those behind it are there already, and cost no turn of the event loop.
  const next = () =>
    read(descriptor, buffer, 0, buffer.length, null, (error, bytes) => {
      if (isOver) return
      if (error) return onEnd(error)
      onPacket(buffer.subarray(0, bytes))
      for (let count = 1; count < mostAtOnce && hasMore(); count++) {
        onPacket(buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, null)))
      }
      next()
    })
  next()
  return {
    write(packet) {
      try {
        writeSync(descriptor, packet)
      } catch {
        // Whoever sent it sends it again.
      }
    },
    close() {
      isOver = true
      closeSync(descriptor)
    },
  }
}
