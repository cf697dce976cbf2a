/** A binary heap: the smallest by `compare` comes out first. */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #compare: (left: T, right: T) => number

  constructor(compare: (left: T, right: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#items.length
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    const items = this.#items
    let index = items.push(item) - 1
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = items[parentIndex] as T
      if (this.#compare(item, parent) >= 0) break
      items[index] = parent
      index = parentIndex
    }
    items[index] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (last === undefined || items.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= items.length) break
      if (child + 1 < items.length && this.#compare(items[child + 1] as T, items[child] as T) < 0) child++
      if (this.#compare(last, items[child] as T) <= 0) break
      items[index] = items[child] as T
      index = child
    }
    items[index] = last
    return first
  }
}
