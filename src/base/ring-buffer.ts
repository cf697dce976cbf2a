/** A queue of bounded length that can be read from the middle: the newest items, oldest first. */
export class RingBuffer<T> {
  #items: (T | undefined)[]
  #start = 0
  #length = 0

  constructor(capacity: number) {
    this.#items = new Array(capacity)
  }

  get length(): number {
    return this.#length
  }
  get capacity(): number {
    return this.#items.length
  }

  /** Adds at the end; when full, the oldest item falls out and is returned. */
  push(item: T): T | undefined {
    const capacity = this.#items.length
    if (this.#length < capacity) {
      this.#items[(this.#start + this.#length++) % capacity] = item
      return undefined
    }
    const oldest = this.#items[this.#start]
    this.#items[this.#start] = item
    this.#start = (this.#start + 1) % capacity
    return oldest
  }

  /** Removes and returns the oldest item. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined
    const oldest = this.#items[this.#start]
    this.#items[this.#start] = undefined
    this.#start = (this.#start + 1) % this.#items.length
    this.#length--
    return oldest
  }

  /** 0 is the oldest. */
  at(index: number): T | undefined {
    return index < 0 || index >= this.#length ? undefined : this.#items[(this.#start + index) % this.#items.length]
  }

  /** Keeps what is there, as far as it fits. */
  resize(capacity: number): void {
    const kept = Array.from({ length: Math.min(this.#length, capacity) }, (_, index) =>
      this.at(this.#length - Math.min(this.#length, capacity) + index),
    )
    this.#items = new Array(capacity)
    kept.forEach((item, index) => {
      this.#items[index] = item
    })
    this.#start = 0
    this.#length = kept.length
  }
}
