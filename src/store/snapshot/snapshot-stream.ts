import { createHash } from 'node:crypto'
import { checksumBytes, headerBytes, paddingFor, snapshotFormat } from '#store/snapshot/snapshot-format.ts'
import { recordBytes, writeRecord } from '#store/sqlite/record.ts'
import type { KeyValue, Lease, Store } from '#store/store.ts'

const partBytes = 256 * 1024

export type SnapshotStream = { revision: number; keys: number; sizeBytes: number; parts: Iterable<Uint8Array> }

/** The store as it is now, in parts to send or to write; writers need not wait, and do not change it. */
export async function snapshotOf(store: Store): Promise<SnapshotStream> {
  const leases = await store.leases()
  // All at once: it is one revision, and no compaction can come between.
  const { kvs, revision } = await store.range({ prefix: '' })
  return snapshotStream(kvs, revision, leases)
}

/** The key-values of one revision, in any order. */
export function snapshotStream(kvs: KeyValue[], revision: number, leases: Pick<Lease, 'id' | 'grantedSeconds'>[]): SnapshotStream {
  const named = leases.map(({ id, grantedSeconds }) => ({ id: String(id), grantedSeconds }))
  const header = headerBytes({ format: snapshotFormat, revision, keys: kvs.length, leases: named })
  const contentBytes = kvs.reduce((sum, { key, value }) => sum + recordBytes(key, value), header.byteLength)
  const sizeBytes = contentBytes + paddingFor(contentBytes).byteLength + checksumBytes
  return { revision, keys: kvs.length, sizeBytes, parts: parts(header, kvs, paddingFor(contentBytes)) }
}

function* parts(header: Uint8Array, kvs: KeyValue[], padding: Uint8Array): Generator<Uint8Array> {
  const hash = createHash('sha256').update(header)
  yield header
  for (const part of recordParts(kvs)) {
    hash.update(part)
    yield part
  }
  hash.update(padding)
  if (padding.byteLength > 0) yield padding
  yield hash.digest()
}

function* recordParts(kvs: KeyValue[]): Generator<Uint8Array> {
  let first = 0
  while (first < kvs.length) {
    let size = 0
    let last = first
    for (; last < kvs.length && size < partBytes; last++) {
      const { key, value } = kvs[last] as KeyValue
      size += recordBytes(key, value)
    }
    const part = Buffer.allocUnsafe(size)
    let at = 0
    for (let index = first; index < last; index++) {
      const { key, value, createRevision, modRevision, version, lease } = kvs[index] as KeyValue
      at = writeRecord(part, at, { row: index + 1, revision: modRevision, createRevision, version, lease, isDeleted: false, key, value })
    }
    yield part
    first = last
  }
}
