/** Open files that are no plain files: named pipes, terminals, other processes' descriptors, connections in other network namespaces. */
import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ReadStream } from 'node:tty'
import { SystemCallError, systemCall } from '#base/system-calls.ts'

const here = -100
const fifoMode = 0o010000
const setPipeSize = 1031

export const descriptors = {
  /** A named pipe. */
  makeFifo(path: string, mode = 0o600): void {
    systemCall('mknodat', here, path, fifoMode | mode, 0)
  },
  /** Open both ways, so that neither end ever seems closed. */
  openFifo(path: string, sizeBytes?: number): number {
    const descriptor = openSync(path, constants.O_RDWR)
    // Users other than root may have less, which is no reason to fail.
    if (sizeBytes !== undefined) tryQuietly(() => systemCall('fcntl', descriptor, setPipeSize, sizeBytes))
    return descriptor
  },
  openForWriting(path: string): number {
    return openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o600)
  },
  /** Holds the file for as long as this process lives; false where another does. */
  lock(path: string): { isOurs: boolean; descriptor: number } {
    const descriptor = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600)
    try {
      systemCall('flock', descriptor, 2 | 4)
      return { isOurs: true, descriptor }
    } catch (error) {
      closeSync(descriptor)
      if (!(error instanceof SystemCallError && error.code === 'EAGAIN')) throw error
      return { isOurs: false, descriptor: -1 }
    }
  },
  close(descriptor: number): void {
    closeSync(descriptor)
  },
  /** What is written to a pipe from now on; ends when no writer is left. */
  readFifo(path: string): Duplex {
    return streamOf(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK))
  },
  /** Throws where nobody reads it. */
  writeFifo(path: string): Duplex {
    return new Socket({ fd: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), readable: false, writable: true })
  },
  /** A copy of another process's descriptor. */
  takeFrom(pid: number, descriptor: number): number {
    const process = systemCall('pidfd_open', pid, 0)
    try {
      return systemCall('pidfd_getfd', process, descriptor, 0)
    } finally {
      closeSync(process)
    }
  },
  /** Its own output is what the programs in it write. */
  terminalStream(descriptor: number): Duplex {
    return new ReadStream(descriptor)
  },
  setTerminalSize(descriptor: number, { columns, rows }: { columns: number; rows: number }): void {
    const size = Buffer.alloc(8)
    size.writeUInt16LE(rows, 0)
    size.writeUInt16LE(columns, 2)
    systemCall('ioctl', descriptor, 0x5414, size)
  },
  /** A connection to a port at the loopback address of the network namespace that a process is in; ours where none is named. */
  connectIn(pid: number | undefined, port: number): Duplex {
    if (pid === undefined) return connectLoopback(port)
    const own = openSync('/proc/thread-self/ns/net', 'r')
    const other = openSync(`/proc/${pid}/ns/net`, 'r')
    try {
      systemCall('setns', other, newNet)
      try {
        return connectLoopback(port)
      } finally {
        systemCall('setns', own, newNet)
      }
    } finally {
      closeSync(own)
      closeSync(other)
    }
  },
}

const newNet = 0x40000000
const families = [
  { family: 2, address: Buffer.from([127, 0, 0, 1]), at: 4, sizeBytes: 16 },
  { family: 10, address: Buffer.from([...new Array(15).fill(0), 1]), at: 8, sizeBytes: 28 },
]

/** On the machine itself a connection is there at once or refused at once. */
function connectLoopback(port: number): Duplex {
  let failure: unknown
  for (const { family, address, at, sizeBytes } of families) {
    const socket = systemCall('socket', family, 1 | 0o2000000, 0)
    const name = Buffer.alloc(sizeBytes)
    name.writeUInt16LE(family, 0)
    name.writeUInt16BE(port, 2)
    name.set(address, at)
    try {
      systemCall('connect', socket, name, sizeBytes)
      return streamOf(socket)
    } catch (error) {
      closeSync(socket)
      failure ??= error
    }
  }
  throw failure
}

function streamOf(descriptor: number): Duplex {
  return new Socket({ fd: descriptor, readable: true, writable: true, allowHalfOpen: true })
}

function tryQuietly(action: () => void): void {
  try {
    action()
  } catch {
    // It stays as it is.
  }
}
