/** Keys and ranges as etcd wants them: bytes, and an end that a prefix does not have by itself. */
import type { KeyRange, KeyValue } from '#store/store.ts'
import type { PbKeyValue } from '#wire/etcd-messages.ts'

/** As a start, the first of all keys; as an end, past the last. */
const unbounded = Buffer.from([0])

export function rangeBytes(range: KeyRange): { key: Uint8Array; rangeEnd?: Uint8Array } {
  if (range.prefix !== undefined) {
    if (range.prefix === '') return { key: unbounded, rangeEnd: unbounded }
    const key = Buffer.from(range.prefix)
    return { key, rangeEnd: endOfPrefix(key) }
  }
  if (range.end === undefined) return { key: Buffer.from(range.key) }
  return { key: range.key === '' ? unbounded : Buffer.from(range.key), rangeEnd: Buffer.from(range.end) }
}

/** The first key after all that begin with the prefix. */
export function endOfPrefix(prefix: Uint8Array): Uint8Array {
  const end = Buffer.from(prefix)
  for (let at = end.length - 1; at >= 0; at--) {
    const byte = end[at] ?? 0xff
    if (byte === 0xff) continue
    end[at] = byte + 1
    return end.subarray(0, at + 1)
  }
  return unbounded
}

export function keyValueOf(kv: PbKeyValue): KeyValue {
  const { createRevision, modRevision, version, lease } = kv
  return { key: Buffer.from(kv.key).toString(), value: kv.value, createRevision, modRevision, version, lease }
}
