import type { ValueTransformer } from '#apiserver/encryption/transformer.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Store } from '#store/store.ts'

const pageSize = 500

/**
 * Writes every value under the prefix anew that is not stored as it would be stored now; for after a change of keys.
 * Values that somebody changes meanwhile are left to that writer. Resolves with how many were written.
 */
export async function rewriteStaleValues(
  store: Pick<Store, 'range' | 'txn'>,
  prefix: string,
  transformer: ValueTransformer,
  signal?: AbortSignal,
): Promise<number> {
  let written = 0
  const end = `${prefix.slice(0, -1)}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)}`
  for (let from = prefix; ; ) {
    const { kvs, more } = await store.range({ key: from, end, limit: pageSize })
    for (const { key, value, modRevision, lease } of kvs) {
      signal?.throwIfAborted()
      const { bytes, isStale } = await transformer.fromStorage(value, key)
      if (!isStale) continue
      const fresh = await transformer.toStorage(bytes, key)
      const { succeeded } = await store.txn({
        compare: [{ key, target: 'modRevision', op: '=', value: modRevision }],
        success: [{ put: { key, value: fresh, ...omitEmpty({ lease }) } }],
      })
      if (succeeded) written++
    }
    const last = kvs.at(-1)
    if (!more || last === undefined) return written
    from = `${last.key}\0`
  }
}
