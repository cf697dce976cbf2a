/**
 * Versions packed one behind the other, as they travel between the threads: one copy of each value, one buffer a batch.
 *
 *      0  row         8  revision     16  createRevision   24  lease
 *     32  version    36  key bytes    40  value bytes      44  1 where deleted
 *     48  key, value
 */
import type { Version } from '#store/mvcc/key-index.ts'

const headerBytes = 48

export type RecordFields = {
  row: number
  revision: number
  createRevision: number
  version: number
  lease: bigint
  isDeleted: boolean
  key: string
  value: Uint8Array
}

export function recordOf({ row, kv, deleted }: Version): RecordFields {
  const { key, value, createRevision, modRevision, version, lease } = kv
  return { row, revision: modRevision, createRevision, version, lease, isDeleted: deleted, key, value }
}

export function recordBytes(key: string, value: Uint8Array): number {
  return headerBytes + Buffer.byteLength(key) + value.byteLength
}

/** Writes the record and returns where the next one goes. */
export function writeRecord(into: Buffer, at: number, record: RecordFields): number {
  const keyStart = at + headerBytes
  const keyBytes = into.write(record.key, keyStart, 'utf8')
  into.writeDoubleLE(record.row, at)
  into.writeDoubleLE(record.revision, at + 8)
  into.writeDoubleLE(record.createRevision, at + 16)
  into.writeBigInt64LE(record.lease, at + 24)
  into.writeUInt32LE(record.version, at + 32)
  into.writeUInt32LE(keyBytes, at + 36)
  into.writeUInt32LE(record.value.byteLength, at + 40)
  into.writeUInt32LE(record.isDeleted ? 1 : 0, at + 44)
  into.set(record.value, keyStart + keyBytes)
  return keyStart + keyBytes + record.value.byteLength
}

/** How long the record is that begins here; undefined where not even that can be told from what is there. */
export function recordSize(from: Buffer, at: number): number | undefined {
  if (from.byteLength - at < headerBytes) return undefined
  return headerBytes + from.readUInt32LE(at + 36) + from.readUInt32LE(at + 40)
}

/** A record where it lies: the value is a view on the buffer, `end` is where the next record begins. */
export function readRecord(from: Buffer, at: number): RecordFields & { end: number } {
  const valueStart = at + headerBytes + from.readUInt32LE(at + 36)
  const end = valueStart + from.readUInt32LE(at + 40)
  return {
    row: from.readDoubleLE(at),
    revision: from.readDoubleLE(at + 8),
    createRevision: from.readDoubleLE(at + 16),
    lease: from.readBigInt64LE(at + 24),
    version: from.readUInt32LE(at + 32),
    isDeleted: from.readUInt32LE(at + 44) === 1,
    key: from.toString('utf8', at + headerBytes, valueStart),
    value: from.subarray(valueStart, end),
    end,
  }
}
