/** Open files that are no plain files: named pipes, terminals, other processes' descriptors, connections in other network namespaces. */
import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { constants as systemConstants } from 'node:os'
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
  /**
   * A connection to a port at the loopback address of the network namespace that a process is in; ours where none is named.
   * Who listens there may not come to take it: it is waited for beside the event loop, and not for ever.
   */
  async connectIn(pid: number | undefined, port: number, options: { timeoutMs: number; signal: AbortSignal }): Promise<Duplex> {
    let failure: unknown
    for (const { family, host } of loopbacks) {
      try {
        return await connected(socketIn(pid, family), { host, port }, options)
      } catch (error) {
        failure ??= error
      }
      if (options.signal.aborted) break
    }
    throw failure
  },
}

const loopbacks = [
  { family: 2, host: '127.0.0.1' },
  { family: 10, host: '::1' },
]
const newNet = 0x40000000
const byteStream = 1
const closeOnExec = 0o2000000

/** A socket stays in the namespace that it was made in, whoever connects it. */
function socketIn(pid: number | undefined, family: number): number {
  const made = () => systemCall('socket', family, byteStream | closeOnExec, 0)
  if (pid === undefined) return made()
  const own = openSync('/proc/thread-self/ns/net', 'r')
  try {
    const other = openSync(`/proc/${pid}/ns/net`, 'r')
    try {
      systemCall('setns', other, newNet)
      try {
        return made()
      } finally {
        systemCall('setns', own, newNet)
      }
    } finally {
      closeSync(other)
    }
  } finally {
    closeSync(own)
  }
}

function connected(
  descriptor: number,
  place: { host: string; port: number },
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    // Not to be read before it is connected, which the types of Node do not know.
    const early = { manualStart: true } as object
    const socket = new Socket({ fd: descriptor, readable: true, writable: true, allowHalfOpen: true, ...early })
    const fail = (error: Error) => {
      finish()
      socket.destroy()
      reject(error)
    }
    // Later ones as well: until somebody takes the socket over, its end is nobody's trouble.
    const failed = ({ errno, message }: NodeJS.ErrnoException) =>
      fail(errno === undefined ? new Error(message) : new SystemCallError('connect', '', -errno))
    const abort = () => fail(new Error('connect: nobody waits for it any more'))
    const timer = setTimeout(() => fail(new SystemCallError('connect', '', systemConstants.errno.ETIMEDOUT)), timeoutMs)
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
    socket.on('error', failed)
    socket.once('connect', () => {
      finish()
      resolve(socket)
    })
    signal.addEventListener('abort', abort)
    try {
      socket.connect(place)
    } catch (error) {
      fail(error as Error)
    }
  })
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
