/**
 * A snapshot: the newest state of a store in one file.
 *
 *     magic, 16 bytes | length of the header, 4 bytes | header, JSON | records, see sqlite/record.ts | zeros | SHA-256 of all that
 *
 * The zeros bring the length before the checksum to a multiple of 512, by which etcdctl knows that a checksum is there.
 */
import { StoreError } from '#store/store.ts'

export const snapshotMagic = Buffer.from('typernetes-snap\n')
export const snapshotFormat = 1
export const checksumBytes = 32
export const blockBytes = 512

export type SnapshotHeader = {
  format: number
  revision: number
  keys: number
  /** Ids are written as text: they do not fit a number. */
  leases: { id: string; grantedSeconds: number }[]
}

/** The file is not what it was when it was written, or is no snapshot at all. */
export class SnapshotDamagedError extends StoreError {
  override name = 'SnapshotDamagedError'
}
export class NewerSnapshotError extends StoreError {
  override name = 'NewerSnapshotError'
}

export function headerBytes(header: SnapshotHeader): Buffer {
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(text.byteLength)
  return Buffer.concat([snapshotMagic, length, text])
}

export function paddingFor(sizeBytes: number): Buffer {
  return Buffer.alloc((blockBytes - (sizeBytes % blockBytes)) % blockBytes)
}
