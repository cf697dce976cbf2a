/** The kernel's own log (/dev/kmsg): what has been written to it since one began to read. */
import { closeSync, constants, openSync, readSync } from 'node:fs'

export type KernelLog = Disposable & {
  /** Messages since the last call, without the numbers in front of them. Those that came too fast to be kept are missing. */
  read(): string[]
}

/** A record is never longer. */
const buffer = Buffer.allocUnsafe(8192)

/** Undefined where the log may not be read. Begins with what comes from now on. */
export function openKernelLog(path = '/dev/kmsg'): KernelLog | undefined {
  let descriptor: number
  try {
    // Without waiting: a read that waits would keep a thread for ever.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
  const log: KernelLog = {
    read() {
      const messages: string[] = []
      for (;;) {
        try {
          const length = readSync(descriptor, buffer, 0, buffer.length, null)
          if (length === 0) return messages
          const text = buffer.toString('utf8', 0, length)
          messages.push(text.slice(text.indexOf(';') + 1).split('\n', 1)[0] ?? '')
        } catch (error) {
          // EPIPE: records were overwritten before they were read; those that follow are there.
          if ((error as NodeJS.ErrnoException).code === 'EPIPE') continue
          return messages
        }
      }
    },
    [Symbol.dispose]: () => closeSync(descriptor),
  }
  log.read()
  return log
}
