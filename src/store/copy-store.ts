import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { KeyValue, Store } from '#store/store.ts'

export type CopyOptions = { from: Store; to: Store; prefix: string }

const pageSize = 500
/** etcd takes 128 operations and 1.5 MB in a transaction unless told otherwise. */
const batchOperations = 100
const batchBytes = 1_000_000
const leastTtlSeconds = 1

/**
 * Writes every key below the prefix, as it was at one revision, into a store that has none of them, and gives how many there were.
 * Leases are granted anew with the time they have left. Revisions are the new store's own.
 */
export async function copyStore({ from, to, prefix }: CopyOptions): Promise<number> {
  const there = await to.range({ prefix, limit: 1, keysOnly: true })
  if (there.count > 0) throw new Error(`the store to migrate to holds ${there.count} keys below ${prefix} already`)
  const leases = new Map<bigint, bigint>()
  for (const { id, ttlSeconds } of await from.leases()) {
    const granted = await to.grantLease(Math.max(leastTtlSeconds, Math.ceil(ttlSeconds)))
    leases.set(id, granted.id)
  }
  const revision = from.revision
  let batch: KeyValue[] = []
  let bytes = 0
  const flush = async () => {
    if (batch.length === 0) return
    await to.txn({
      success: batch.map(({ key, value, lease }) => {
        const attached = leases.get(lease)
        return { put: { key, value, ...defined({ lease: attached }) } }
      }),
    })
    batch = []
    bytes = 0
  }
  let copied = 0
  const end = prefixEnd(prefix)
  for (let key = prefix; ; ) {
    const { kvs, more } = await from.range({ key, end, limit: pageSize, ...omitEmpty({ revision }) })
    for (const kv of kvs) {
      if (batch.length >= batchOperations || bytes + kv.value.byteLength > batchBytes) await flush()
      batch.push(kv)
      bytes += kv.value.byteLength
      copied++
    }
    const last = kvs.at(-1)
    if (!more || last === undefined) break
    key = `${last.key}\0`
  }
  await flush()
  return copied
}

/** The first key that is past all with the prefix. */
const prefixEnd = (prefix: string): string => prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)
