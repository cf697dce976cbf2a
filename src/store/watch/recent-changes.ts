import { type Change, History } from '#store/mvcc/history.ts'

const mostChanges = 10_000
const mostBytes = 32 * 1024 * 1024

/** The latest changes, kept so that watches which start a little back need not ask elsewhere. */
export class RecentChanges {
  readonly #history = new History<Change>()
  #first: number
  #count = 0
  #bytes = 0

  /** Complete from the change after `revision` on. */
  constructor(revision: number) {
    this.#first = revision + 1
  }

  /** The oldest revision of which the changes are here. */
  get first(): number {
    return this.#first
  }

  push(change: Change): void {
    this.#history.push(change)
    this.#count++
    this.#bytes += sizeOf(change)
    while (this.#count > mostChanges || this.#bytes > mostBytes) {
      const oldest = this.#history.shift(Number.POSITIVE_INFINITY)
      if (!oldest) return
      this.#count--
      this.#bytes -= sizeOf(oldest)
      this.#first = oldest.revision + 1
    }
  }

  from(revision: number, limit: number): Change[] {
    return this.#history.from(revision, limit)
  }
}

function sizeOf({ events }: Change): number {
  return events.reduce((sum, { kv, prev }) => sum + kv.value.byteLength + (prev?.value.byteLength ?? 0) + 300, 0)
}
