import { addressAt, type IpRange, parseRange } from '#base/ip-range.ts'

/** Gives out the addresses of one node's pods, the one unused for longest first. */
export class AddressRange {
  readonly #prefix: string
  readonly #nodeRange: () => string | undefined
  readonly #used = new Set<string>()
  #next = 0
  #parsed: { text: string; range: IpRange } | undefined

  /**
   * `prefix` is the first three numbers of a range to fall back on: `100.64.7`. `nodeRange` is the node's own (`spec.podCIDR`), which
   * it is given a moment after it has joined, if there is somebody to give it.
   */
  constructor(prefix: string, nodeRange: () => string | undefined = () => undefined) {
    this.#prefix = prefix
    this.#nodeRange = nodeRange
  }

  take(): string {
    const range = this.#range()
    const count = Math.max(0, Number(range.size) - 3)
    for (let tries = 0; tries < count; tries++) {
      // The first one is the network's, the second one the way out, the last one everybody's.
      const address = addressAt(range, 2 + (this.#next % count))
      this.#next++
      if (this.#used.has(address)) continue
      this.#used.add(address)
      return address
    }
    throw new Error(`no address is left in ${range.text}`)
  }

  /** An address somebody has already. */
  keep(address: string): void {
    this.#used.add(address)
  }

  giveBack(address: string): void {
    this.#used.delete(address)
  }

  #range(): IpRange {
    const text = this.#nodeRange() ?? `${this.#prefix}.0/24`
    if (this.#parsed?.text !== text) this.#parsed = { text, range: parseRange(text) }
    return this.#parsed.range
  }
}
