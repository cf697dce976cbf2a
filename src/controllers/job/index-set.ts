/** Sets of completion indexes, in the form statuses have them: `1,3-5,7`. */
export class IndexSet {
  readonly #indexes: ReadonlySet<number>

  constructor(indexes: Iterable<number> = []) {
    this.#indexes = new Set(indexes)
  }

  /** What cannot be read, or is not below `completions`, is left out. */
  static parse(text: string | undefined, completions: number): IndexSet {
    const indexes: number[] = []
    for (const part of (text ?? '').split(',')) {
      const match = /^(\d+)(?:-(\d+))?$/.exec(part)
      if (match === null) continue
      const first = Number(match[1])
      const last = Math.min(Number(match[2] ?? match[1]), completions - 1)
      for (let index = first; index <= last; index++) indexes.push(index)
    }
    return new IndexSet(indexes)
  }

  get size(): number {
    return this.#indexes.size
  }
  has(index: number): boolean {
    return this.#indexes.has(index)
  }
  with(more: Iterable<number>): IndexSet {
    return new IndexSet([...this.#indexes, ...more])
  }
  countIn(other: IndexSet): number {
    return [...this.#indexes].filter((index) => other.has(index)).length
  }

  /** Two neighbours are written one by one, as upstream does. */
  toString(): string {
    const parts: string[] = []
    const sorted = [...this.#indexes].sort((left, right) => left - right)
    for (let start = 0; start < sorted.length; ) {
      let end = start
      while (sorted[end + 1] === (sorted[end] ?? 0) + 1) end++
      if (end === start) parts.push(`${sorted[start]}`)
      else parts.push(end === start + 1 ? `${sorted[start]},${sorted[end]}` : `${sorted[start]}-${sorted[end]}`)
      start = end + 1
    }
    return parts.join(',')
  }
}
