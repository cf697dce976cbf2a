/** How many connections there may be, in all and of one address: somebody who opens them without end leaves room for others. */
export class ConnectionRoom {
  readonly #most: number
  readonly #mostOfOne: number
  readonly #byAddress = new Map<string, number>()
  #open = 0

  constructor({ most, mostOfOne }: { most: number; mostOfOne: number }) {
    this.#most = most
    this.#mostOfOne = mostOfOne
  }

  /** False where there is no room; otherwise `leave` is to follow. */
  enter(address: string): boolean {
    const ofOne = this.#byAddress.get(address) ?? 0
    if (this.#open >= this.#most || ofOne >= this.#mostOfOne) return false
    this.#byAddress.set(address, ofOne + 1)
    this.#open++
    return true
  }

  leave(address: string): void {
    this.#open--
    const left = (this.#byAddress.get(address) ?? 1) - 1
    if (left === 0) this.#byAddress.delete(address)
    else this.#byAddress.set(address, left)
  }
}
