/** Keys and ranges of etcd's requests as the store has them: text. */
import { endOfPrefix } from '#store/etcd/key-bytes.ts'
import { EmptyKeyError, InvalidKeyError, type KeyRange, type KeyValue } from '#store/store.ts'
import type { PbKeyValue } from '#wire/etcd-messages.ts'

const strictText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function keyOf(bytes: Uint8Array): string {
  if (bytes.byteLength === 0) throw new EmptyKeyError('a key must not be empty')
  return textOf(bytes)
}

export function rangeOf(key: Uint8Array, rangeEnd: Uint8Array): KeyRange {
  if (key.byteLength === 0) throw new EmptyKeyError('a key must not be empty')
  if (rangeEnd.byteLength === 0) return { key: textOf(key) }
  if (isZeroByte(rangeEnd)) return isZeroByte(key) ? { prefix: '' } : { key: textOf(key), end: '\0' }
  // The end of a prefix need not be text.
  if (Buffer.compare(endOfPrefix(key), rangeEnd) === 0) return { prefix: textOf(key) }
  return { key: textOf(key), end: textOf(rangeEnd) }
}

export function pbKeyValueOf({ key, value, createRevision, modRevision, version, lease }: KeyValue): PbKeyValue {
  return { key: Buffer.from(key), value, createRevision, modRevision, version, lease }
}

function isZeroByte(bytes: Uint8Array): boolean {
  return bytes.byteLength === 1 && bytes[0] === 0
}

function textOf(bytes: Uint8Array): string {
  try {
    return strictText.decode(bytes)
  } catch {
    throw new InvalidKeyError('typernetes: keys must be UTF-8')
  }
}
