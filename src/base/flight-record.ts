import { closeSync, openSync, writeSync } from 'node:fs'

/** A file that holds the last thing it was told, and still does when the process ends without a word: the machine keeps what was written. */
export type FlightRecord = Disposable & { note(text: string): void }

const recordBytes = 4096

/** What is longer is cut. Throws where the file cannot be made. */
export function openFlightRecord(path: string): FlightRecord {
  const file = openSync(path, 'w', 0o600)
  const page = Buffer.alloc(recordBytes, ' ')
  let isClosed = false
  return {
    note(text) {
      if (isClosed) return
      page.fill(' ')
      page.write(text.slice(0, recordBytes))
      // At once, and without waiting for the disk: a page of memory is copied.
      writeSync(file, page, 0, recordBytes, 0)
    },
    [Symbol.dispose]() {
      if (isClosed) return
      isClosed = true
      closeSync(file)
    },
  }
}
