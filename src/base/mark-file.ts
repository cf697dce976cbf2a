import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'

/** A few bytes that are overwritten in place, at once and without waiting for the disk: they outlive the process, not a power cut. */
export type MarkFile = Disposable & {
  /** What it held when it was opened. */
  readonly content: Uint8Array
  write(content: Uint8Array): void
}

const largestBytes = 512

/** Makes the file where it is missing. */
export function openMarkFile(path: string): MarkFile {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  const content = Buffer.alloc(largestBytes)
  const length = readSync(file, content, 0, largestBytes, 0)
  return {
    content: content.subarray(0, length),
    write: (bytes) => void writeSync(file, bytes, 0, bytes.length, 0),
    [Symbol.dispose]: () => closeSync(file),
  }
}
