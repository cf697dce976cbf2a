/** A map that forgets what was not touched for longest. */
export class RecentKeys<T> {
  readonly #entries = new Map<string, T>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#entries.size
  }
  has(key: string): boolean {
    return this.#entries.has(key)
  }
  get(key: string): T | undefined {
    return this.#entries.get(key)
  }
  set(key: string, value: T): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size > this.#limit) this.#entries.delete(this.#entries.keys().next().value ?? '')
  }
}
