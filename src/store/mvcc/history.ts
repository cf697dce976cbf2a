import { firstWhere, type Version } from '#store/mvcc/key-index.ts'
import type { StoreEvent } from '#store/store.ts'

/** What one transaction changed: the events, and beside each the version it made. */
export type Change = { readonly revision: number; readonly events: StoreEvent[]; readonly versions: Version[] }

/** The changes since the last compaction, oldest first, for watches that start in the past. */
export class History {
  /** Those before `#first` are gone; the array itself is cut only when half of it is. */
  #changes: (Change | undefined)[] = []
  #first = 0

  push(change: Change): void {
    this.#changes.push(change)
  }

  /** Up to `limit` changes from `revision` on. */
  from(revision: number, limit: number): Change[] {
    const start = firstWhere(this.#first, this.#changes.length, (at) => (this.#changes[at]?.revision ?? 0) >= revision)
    return this.#changes.slice(start, start + limit).filter((change) => change !== undefined)
  }

  /** Takes out the oldest change, if it is not younger than `revision`. */
  shift(revision: number): Change | undefined {
    const oldest = this.#changes[this.#first]
    if (!oldest || oldest.revision > revision) return undefined
    this.#changes[this.#first] = undefined
    this.#first++
    if (this.#first > 1024 && this.#first * 2 > this.#changes.length) {
      this.#changes = this.#changes.slice(this.#first)
      this.#first = 0
    }
    return oldest
  }
}
