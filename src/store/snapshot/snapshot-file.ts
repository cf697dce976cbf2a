import { createHash, type Hash } from 'node:crypto'
import type { Files, OpenFile } from '#base/files.ts'
import {
  blockBytes,
  checksumBytes,
  NewerSnapshotError,
  SnapshotDamagedError,
  type SnapshotHeader,
  snapshotFormat,
  snapshotMagic,
} from '#store/snapshot/snapshot-format.ts'
import { type RecordFields, readRecord, recordSize } from '#store/sqlite/record.ts'

const readBytes = 1024 * 1024

export type CheckedSnapshot = AsyncDisposable & {
  header: SnapshotHeader
  sizeBytes: number
  sha256: string
  /** Every key with its newest version. */
  records(): AsyncGenerator<RecordFields>
}

/** Opens a snapshot after checking all of it against its checksum. */
export async function openSnapshot(files: Files, path: string): Promise<CheckedSnapshot> {
  if (!(await files.stat(path))) throw new SnapshotDamagedError(`there is no snapshot ${path}`)
  const file = await files.open(path, 'r')
  try {
    const sizeBytes = await file.sizeBytes()
    const sha256 = await checksumOf(file, path, sizeBytes)
    const { header, start } = await readHeader(file, path)
    return { header, sizeBytes, sha256, records: () => readRecords(file, start, header.keys), [Symbol.asyncDispose]: () => file.close() }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function checksumOf(file: OpenFile, path: string, sizeBytes: number): Promise<string> {
  const magic = await file.readAt(0, snapshotMagic.byteLength)
  if (Buffer.compare(magic, snapshotMagic) !== 0) throw new SnapshotDamagedError(`${path} is not a snapshot of Typernetes`)
  const contentBytes = sizeBytes - checksumBytes
  if (contentBytes % blockBytes !== 0)
    throw new SnapshotDamagedError(`${path} is cut short: it has ${sizeBytes} bytes and no checksum at its end`)
  const hash: Hash = createHash('sha256')
  for (let at = 0; at < contentBytes; at += readBytes) hash.update(await file.readAt(at, Math.min(readBytes, contentBytes - at)))
  const found = hash.digest('hex')
  const written = Buffer.from(await file.readAt(contentBytes, checksumBytes)).toString('hex')
  if (found !== written) {
    throw new SnapshotDamagedError(`${path} is damaged: its checksum is ${written}, its content has ${found}. Take another snapshot.`)
  }
  return found
}

async function readHeader(file: OpenFile, path: string): Promise<{ header: SnapshotHeader; start: number }> {
  const length = Buffer.from(await file.readAt(snapshotMagic.byteLength, 4)).readUInt32LE()
  const textStart = snapshotMagic.byteLength + 4
  const header = JSON.parse(Buffer.from(await file.readAt(textStart, length)).toString()) as SnapshotHeader
  if (header.format > snapshotFormat) {
    throw new NewerSnapshotError(`${path} has format ${header.format}, and this program knows up to ${snapshotFormat}: use a newer version`)
  }
  return { header, start: textStart + length }
}

async function* readRecords(file: OpenFile, start: number, count: number): AsyncGenerator<RecordFields> {
  let position = start
  let buffer = Buffer.alloc(0)
  let at = 0
  for (let index = 0; index < count; index++) {
    while ((recordSize(buffer, at) ?? Number.POSITIVE_INFINITY) > buffer.byteLength - at) {
      const more = await file.readAt(position, readBytes)
      if (more.byteLength === 0) throw new SnapshotDamagedError('the snapshot ends before its last key')
      position += more.byteLength
      buffer = Buffer.concat([buffer.subarray(at), more])
      at = 0
    }
    const record = readRecord(buffer, at)
    at = record.end
    yield record
  }
}
