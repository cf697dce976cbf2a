import type { KeyValue } from '#store/store.ts'
import { type PbRangeRequest, sortOrders, sortTargets } from '#wire/etcd-messages.ts'

type Order = (a: KeyValue, b: KeyValue) => number

const orders: Record<number, Order> = {
  [sortTargets.key]: () => 0,
  [sortTargets.version]: (a, b) => a.version - b.version,
  [sortTargets.create]: (a, b) => a.createRevision - b.createRevision,
  [sortTargets.mod]: (a, b) => a.modRevision - b.modRevision,
  [sortTargets.value]: (a, b) => Buffer.compare(a.value, b.value),
}

/** How a range has to be rearranged; undefined where it comes as the store gives it, by key. */
export function sortedAndFiltered(request: PbRangeRequest): ((kvs: KeyValue[]) => KeyValue[]) | undefined {
  const { sortOrder, sortTarget, minModRevision, maxModRevision, minCreateRevision, maxCreateRevision } = request
  const isByKey = sortTarget === sortTargets.key && sortOrder !== sortOrders.descend
  const isFiltered = [minModRevision, maxModRevision, minCreateRevision, maxCreateRevision].some((bound) => bound > 0)
  if (isByKey && !isFiltered) return undefined
  const isWithin = (revision: number, min: number, max: number) => (min === 0 || revision >= min) && (max === 0 || revision <= max)
  return (kvs) => {
    const kept = kvs.filter(
      (kv) => isWithin(kv.modRevision, minModRevision, maxModRevision) && isWithin(kv.createRevision, minCreateRevision, maxCreateRevision),
    )
    // The store's order is the keys', and sorting keeps it among equals.
    const sorted = kept.sort(orders[sortTarget] ?? (() => 0))
    return sortOrder === sortOrders.descend ? sorted.reverse() : sorted
  }
}
