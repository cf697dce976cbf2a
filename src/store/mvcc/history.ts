import { firstWhere, type Version } from '#store/mvcc/key-index.ts'
import type { StoreEvent } from '#store/store.ts'

/** What one transaction changed. */
export type Change = { readonly revision: number; readonly events: StoreEvent[] }

/** A change by the versions it made. The events are only made when somebody asks for them, which most of the time nobody does. */
export class VersionedChange implements Change {
  readonly revision: number
  readonly versions: Version[] = []
  #events: StoreEvent[] | undefined

  constructor(revision: number) {
    this.revision = revision
  }

  get events(): StoreEvent[] {
    this.#events ??= this.versions.map(({ kv, deleted, older }) => {
      const prev = older?.deleted ? undefined : older?.kv
      return { type: deleted ? 'delete' : 'put', kv, prev }
    })
    return this.#events
  }
}

/** The changes since the last compaction, oldest first, for watches that start in the past. */
export class History<Kind extends Change = VersionedChange> {
  /** Those before `#first` are gone; the array itself is cut only when half of it is. */
  #changes: (Kind | undefined)[] = []
  #first = 0

  /** The revision of the oldest change; infinite where there is none. */
  get first(): number {
    return this.#changes[this.#first]?.revision ?? Number.POSITIVE_INFINITY
  }

  push(change: Kind): void {
    this.#changes.push(change)
  }

  /** Up to `limit` changes from `revision` on. */
  from(revision: number, limit: number): Kind[] {
    const start = firstWhere(this.#first, this.#changes.length, (at) => (this.#changes[at]?.revision ?? 0) >= revision)
    return this.#changes.slice(start, start + limit).filter((change) => change !== undefined)
  }

  /** Takes out the oldest change, if it is not younger than `revision`. */
  shift(revision: number): Kind | undefined {
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
