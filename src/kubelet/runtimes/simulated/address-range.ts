/** Gives out the addresses of one node's pods: .2 to .254, the one unused for longest first. */
export class AddressRange {
  readonly #prefix: string
  readonly #used = new Set<string>()
  #next = 2

  /** `prefix` is the first three numbers: `10.244.7`. */
  constructor(prefix: string) {
    this.#prefix = prefix
  }

  take(): string {
    for (let tries = 0; tries < 253; tries++) {
      const address = `${this.#prefix}.${this.#next}`
      this.#next = this.#next === 254 ? 2 : this.#next + 1
      if (this.#used.has(address)) continue
      this.#used.add(address)
      return address
    }
    throw new Error(`no address is left in ${this.#prefix}.0/24`)
  }

  /** An address somebody has already. */
  keep(address: string): void {
    this.#used.add(address)
  }

  giveBack(address: string): void {
    this.#used.delete(address)
  }
}
