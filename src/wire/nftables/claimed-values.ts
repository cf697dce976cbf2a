export type Claim<T> = { key: string; before: T | undefined; after: T | undefined }

/** Values by key that several owners may claim: the owner whose name sorts first decides. Knows what changed since it was settled. */
export class ClaimedValues<T> {
  /** Most keys have one owner; those with several keep them here, by name. */
  readonly #claims = new Map<string, { owner: string; value: T } | Map<string, T>>()
  /** Keys that may have changed, and the value they had when last settled. */
  readonly #before = new Map<string, T | undefined>()
  readonly #isSame: (one: T, other: T) => boolean

  constructor(isSame: (one: T, other: T) => boolean = Object.is) {
    this.#isSame = isSame
  }

  replace(owner: string, previous: ReadonlyMap<string, T>, next: ReadonlyMap<string, T>): void {
    for (const key of previous.keys()) if (!next.has(key)) this.#set(key, owner, undefined)
    for (const [key, value] of next) {
      const known = previous.get(key)
      if (known === undefined || !this.#isSame(known, value)) this.#set(key, owner, value)
    }
  }

  get(key: string): T | undefined {
    const claim = this.#claims.get(key)
    if (claim === undefined) return undefined
    if (!(claim instanceof Map)) return claim.value
    let first: string | undefined
    for (const owner of claim.keys()) if (first === undefined || owner < first) first = owner
    return first === undefined ? undefined : claim.get(first)
  }

  keys(): IterableIterator<string> {
    return this.#claims.keys()
  }

  *entries(): Generator<[key: string, value: T]> {
    for (const key of this.#claims.keys()) {
      const value = this.get(key)
      if (value !== undefined) yield [key, value]
    }
  }

  get size(): number {
    return this.#claims.size
  }

  get hasChanges(): boolean {
    return this.#before.size > 0
  }

  changes(): Claim<T>[] {
    return [...this.#before].map(([key, before]) => ({ key, before, after: this.get(key) }))
  }

  settle(): void {
    this.#before.clear()
  }

  #set(key: string, owner: string, value: T | undefined): void {
    const last = this.get(key)
    this.#claim(key, owner, value)
    const now = this.get(key)
    const before = this.#before.has(key) ? this.#before.get(key) : last
    const isBack = before === undefined || now === undefined ? before === now : this.#isSame(before, now)
    if (isBack) this.#before.delete(key)
    else this.#before.set(key, before)
  }

  #claim(key: string, owner: string, value: T | undefined): void {
    const claim = this.#claims.get(key)
    if (claim instanceof Map) {
      if (value === undefined) claim.delete(owner)
      else claim.set(owner, value)
      const [last, ...others] = claim
      if (last === undefined) this.#claims.delete(key)
      else if (others.length === 0) this.#claims.set(key, { owner: last[0], value: last[1] })
    } else if (value === undefined) {
      if (claim?.owner === owner) this.#claims.delete(key)
    } else if (claim === undefined || claim.owner === owner) {
      this.#claims.set(key, { owner, value })
    } else {
      this.#claims.set(
        key,
        new Map([
          [claim.owner, claim.value],
          [owner, value],
        ]),
      )
    }
  }
}
