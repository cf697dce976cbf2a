/**
 * How far the store's file had come, beside it in `store.mark`: written after each commit, without a sync, so that it is never ahead of the
 * file. SQLite takes a log with a wrong byte for one that was cut off there, and goes on without what follows; by the mark it shows.
 */
import { crc32 } from 'node:zlib'
import { type MarkFile, openMarkFile } from '#base/mark-file.ts'
import type { BatchMark } from '#store/sqlite/thread-protocol.ts'

const magic = 0x4b524d54
const markBytes = 24

export const markPath = (storePath: string): string => storePath.replace(/\.db$/, '.mark')

export class CommitMark implements Disposable {
  readonly #file: MarkFile | undefined
  readonly #bytes = Buffer.alloc(markBytes)
  /** What was written last when the store was in use before; undefined where nobody knows. */
  readonly before: BatchMark | undefined

  /** A mark that cannot be written is done without. */
  constructor(storePath: string) {
    try {
      this.#file = openMarkFile(markPath(storePath))
    } catch {
      this.#file = undefined
    }
    this.before = this.#file && readMark(this.#file.content)
  }

  write({ lastRow, number }: BatchMark): void {
    this.#bytes.writeUInt32LE(magic, 0)
    this.#bytes.writeDoubleLE(lastRow, 8)
    this.#bytes.writeDoubleLE(number, 16)
    this.#bytes.writeUInt32LE(crc32(this.#bytes.subarray(8)), 4)
    try {
      this.#file?.write(this.#bytes)
    } catch {
      // An older mark does no harm: it says less.
    }
  }

  [Symbol.dispose](): void {
    this.#file?.[Symbol.dispose]()
  }
}

/** Undefined where there is none, or one that was spoilt. */
function readMark(content: Uint8Array): BatchMark | undefined {
  if (content.byteLength < markBytes) return undefined
  const bytes = Buffer.from(content.buffer, content.byteOffset, markBytes)
  if (bytes.readUInt32LE(0) !== magic || bytes.readUInt32LE(4) !== crc32(bytes.subarray(8))) return undefined
  return { lastRow: bytes.readDoubleLE(8), number: bytes.readDoubleLE(16) }
}
