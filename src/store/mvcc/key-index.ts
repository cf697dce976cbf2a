import { codePointsBefore, isBeyondNativeOrder, unitsBefore } from '#store/mvcc/key-order.ts'
import type { KeyRange, KeyValue } from '#store/store.ts'

/** One state a key was in; `older` leads back to what it was before, as far as history is kept. */
export type Version = {
  kv: KeyValue
  /** A tombstone: `kv` has only the key and the revision of the deletion. */
  deleted: boolean
  older: Version | undefined
  /** Where the version is kept on disk; 0 where it is not. */
  row: number
}

export type KeyEntry = { readonly key: string; newest: Version; block: Block }

/** Keys that are neighbours. `live` and `changed` describe the newest versions, so that a block nobody touched since can be counted whole. */
export type Block = { entries: KeyEntry[]; live: number; changed: number }

/** Part of a block: the entries from `from` up to but without `to`. */
export type BlockSlice = { block: Block; from: number; to: number }

const blockCapacity = 512

/**
 * Keys in the order of their UTF-8 bytes, as etcd sorts them, in blocks of neighbours: two binary searches find a key's
 * place, an insert moves at most one block's worth of pointers, and a scan walks plain arrays.
 */
export class KeyIndex {
  readonly #entries = new Map<string, KeyEntry>()
  readonly #blocks: Block[] = []
  /** The native order until a key arrives that it would misplace. */
  #isBefore: (a: string, b: string) => boolean = unitsBefore

  get size(): number {
    return this.#entries.size
  }

  get(key: string): KeyEntry | undefined {
    return this.#entries.get(key)
  }

  /** Makes `version` the newest of its key. */
  push(version: Version): void {
    const entry = this.#entries.get(version.kv.key)
    if (!entry) {
      this.#insert(version)
      return
    }
    entry.block.live += liveness(version) - liveness(entry.newest)
    entry.block.changed = Math.max(entry.block.changed, version.kv.modRevision)
    entry.newest = version
  }

  /** Takes back the newest version of a key, which must be `version`. */
  pop(version: Version): void {
    const entry = this.#entries.get(version.kv.key)
    if (!entry) return
    if (!version.older) {
      this.remove(entry)
      return
    }
    entry.block.live += liveness(version.older) - liveness(version)
    entry.newest = version.older
  }

  remove(entry: KeyEntry): void {
    const { block } = entry
    block.live -= liveness(entry.newest)
    block.entries.splice(this.#lowerBound(block, entry.key), 1)
    if (block.entries.length === 0) this.#blocks.splice(this.#blocks.indexOf(block), 1)
    this.#entries.delete(entry.key)
  }

  /** The parts of blocks that hold the range, in order. The index must not change while they are walked. */
  *slices(range: KeyRange): Generator<BlockSlice> {
    if (range.prefix === undefined && range.end === undefined) {
      const entry = this.#entries.get(range.key)
      if (!entry) return
      const from = this.#lowerBound(entry.block, entry.key)
      yield { block: entry.block, from, to: from + 1 }
      return
    }
    const start = range.prefix ?? range.key
    const isInside = this.#insideOf(range)
    let index = this.#blockFor(start)
    let block = this.#blocks[index]
    let from = block ? this.#lowerBound(block, start) : 0
    while (block) {
      const last = block.entries.at(-1)
      if (last && isInside(last.key)) {
        if (from < block.entries.length) yield { block, from, to: block.entries.length }
      } else {
        const to = firstWhere(from, block.entries.length, (at) => !isInside(block?.entries[at]?.key ?? ''))
        if (to > from) yield { block, from, to }
        // An empty rest of the first block says nothing about the next one.
        if (from < block.entries.length) return
      }
      index++
      block = this.#blocks[index]
      from = 0
    }
  }

  /** For keys known to be at or after the range's start. */
  #insideOf(range: KeyRange): (key: string) => boolean {
    const { prefix, end } = range
    if (prefix !== undefined) return (key) => key.startsWith(prefix)
    if (end === undefined || end === '\0') return () => true
    return (key) => this.#isBefore(key, end)
  }

  #insert(version: Version): void {
    const { key } = version.kv
    if (this.#isBefore === unitsBefore && isBeyondNativeOrder(key)) this.#isBefore = codePointsBefore
    let block = this.#blocks[this.#blockFor(key)]
    if (!block) {
      block = { entries: [], live: 0, changed: 0 }
      this.#blocks.push(block)
    }
    const entry: KeyEntry = { key, newest: version, block }
    block.entries.splice(this.#lowerBound(block, key), 0, entry)
    block.live += liveness(version)
    block.changed = Math.max(block.changed, version.kv.modRevision)
    this.#entries.set(key, entry)
    if (block.entries.length > blockCapacity) this.#split(block)
  }

  #split(block: Block): void {
    const moved = block.entries.splice(block.entries.length >> 1)
    const right: Block = { entries: moved, live: 0, changed: block.changed }
    for (const entry of moved) {
      entry.block = right
      right.live += liveness(entry.newest)
    }
    block.live -= right.live
    this.#blocks.splice(this.#blocks.indexOf(block) + 1, 0, right)
  }

  /** The last block that starts at or before the key; 0 when all start after it. */
  #blockFor(key: string): number {
    const blocks = this.#blocks
    const isBefore = this.#isBefore
    let from = 0
    let to = blocks.length
    while (from < to) {
      const middle = (from + to) >>> 1
      if (isBefore(key, blocks[middle]?.entries[0]?.key ?? '')) to = middle
      else from = middle + 1
    }
    return Math.max(0, from - 1)
  }

  // Spelled out, as above: every write comes by, and a function made for each costs as much as the search.
  #lowerBound({ entries }: Block, key: string): number {
    const isBefore = this.#isBefore
    let from = 0
    let to = entries.length
    while (from < to) {
      const middle = (from + to) >>> 1
      if (isBefore((entries[middle] as KeyEntry).key, key)) from = middle + 1
      else to = middle
    }
    return from
  }
}

function liveness(version: Version): number {
  return version.deleted ? 0 : 1
}

/** The first index in [low, high) for which a predicate that turns from false to true is true; `high` when none. */
export function firstWhere(low: number, high: number, isTrue: (index: number) => boolean): number {
  let from = low
  let to = high
  while (from < to) {
    const middle = (from + to) >>> 1
    if (isTrue(middle)) to = middle
    else from = middle + 1
  }
  return from
}
