/** What writers were told, and what may therefore be there. */
import type { Count } from './soak-client.ts'

type Entry = {
  /** What is there as far as was acknowledged. */
  held: Count
  /** What is there if a write took place of which nobody knows. */
  perhaps: { count: Count } | undefined
}

/** Each object belongs to one writer, and holds a number that grows by one with each write. */
export class Ledger {
  readonly #entries = new Map<string, Entry>()
  acknowledged = 0
  unknown = 0

  held(name: string): Count {
    return this.#entries.get(name)?.held
  }

  isSettled(name: string): boolean {
    return this.#entries.get(name)?.perhaps === undefined
  }

  began(name: string, count: Count): void {
    const entry = this.#entries.get(name) ?? { held: undefined, perhaps: undefined }
    entry.perhaps = { count }
    this.#entries.set(name, entry)
  }

  acknowledge(name: string): void {
    const entry = this.#entries.get(name)
    if (entry?.perhaps === undefined) return
    entry.held = entry.perhaps.count
    entry.perhaps = undefined
    this.acknowledged++
  }

  /** The write certainly did not take place. */
  refused(name: string): void {
    const entry = this.#entries.get(name)
    if (entry !== undefined) entry.perhaps = undefined
  }

  /** What a reader finds decides; anything but the two it may be is a write lost or one from nowhere. */
  found(name: string, count: Count): string | undefined {
    const entry = this.#entries.get(name) ?? { held: undefined, perhaps: undefined }
    const { held, perhaps } = entry
    if (count === held || (perhaps !== undefined && count === perhaps.count)) {
      if (perhaps !== undefined) this.unknown++
      entry.held = count
      entry.perhaps = undefined
      this.#entries.set(name, entry)
      return undefined
    }
    const expected = perhaps === undefined ? `${held}` : `${held} or ${perhaps.count}`
    return `${name} holds ${count}; it should be ${expected}`
  }

  names(): string[] {
    return [...this.#entries.keys()]
  }

  expected(): Map<string, { held: Count; perhaps: { count: Count } | undefined }> {
    return new Map([...this.#entries].map(([name, { held, perhaps }]) => [name, { held, perhaps }]))
  }
}
