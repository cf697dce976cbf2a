/** Files that the kernel makes up when they are read (/proc, cgroups): a read takes microseconds, less than it takes to change threads. */
import { closeSync, openSync, readdirSync, readSync } from 'node:fs'

export type KernelFiles = {
  /** Undefined where it cannot be read. */
  read(path: string): string | undefined
  /** Names in a directory; none where there is no such directory. */
  list(path: string): string[]
}

let buffer = Buffer.allocUnsafe(64 << 10)

export const kernelFiles: KernelFiles = {
  read(path) {
    let descriptor: number | undefined
    try {
      descriptor = openSync(path, 'r')
      let length = 0
      for (;;) {
        const count = readSync(descriptor, buffer, length, buffer.length - length, null)
        if (count === 0) return buffer.toString('latin1', 0, length)
        length += count
        if (length === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)])
      }
    } catch {
      return undefined
    } finally {
      if (descriptor !== undefined) closeSync(descriptor)
    }
  },
  list(path) {
    try {
      return readdirSync(path)
    } catch {
      return []
    }
  },
}
