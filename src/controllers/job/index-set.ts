/** From `first` to `last`, both of them included. */
type Interval = { first: number; last: number }

/** Sets of completion indexes, in the form statuses have them: `1,3-5,7`. Kept as intervals, since two of them may be two thousand million indexes. */
export class IndexSet {
  /** In order, with a gap between any two. */
  readonly #intervals: readonly Interval[]
  readonly size: number

  private constructor(intervals: Interval[]) {
    this.#intervals = joined(intervals)
    this.size = this.#intervals.reduce((sum, { first, last }) => sum + last - first + 1, 0)
  }

  static of(indexes: Iterable<number>): IndexSet {
    return new IndexSet(Array.from(indexes, (index) => ({ first: index, last: index })))
  }

  /** What cannot be read, or is not below `completions`, is left out. */
  static parse(text: string | undefined, completions: number): IndexSet {
    const intervals: Interval[] = []
    for (const part of (text ?? '').split(',')) {
      const match = /^(\d+)(?:-(\d+))?$/.exec(part)
      if (match === null) continue
      const first = Number(match[1])
      const last = Math.min(Number(match[2] ?? match[1]), completions - 1)
      if (first <= last) intervals.push({ first, last })
    }
    return new IndexSet(intervals)
  }

  has(index: number): boolean {
    return this.lastInRow(index) !== undefined
  }

  /** The last of the indexes from this one on that are all in the set; undefined where this one is not. */
  lastInRow(index: number): number | undefined {
    let [from, to] = [0, this.#intervals.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#intervals[middle]?.last ?? 0) < index) from = middle + 1
      else to = middle
    }
    const interval = this.#intervals[from]
    return interval !== undefined && interval.first <= index ? interval.last : undefined
  }

  with(more: Iterable<number>): IndexSet {
    return new IndexSet([...this.#intervals, ...Array.from(more, (index) => ({ first: index, last: index }))])
  }

  countIn(other: IndexSet): number {
    let count = 0
    for (let at = 0, facing = 0; ; ) {
      const one = this.#intervals[at]
      const two = other.#intervals[facing]
      if (one === undefined || two === undefined) return count
      count += Math.max(0, Math.min(one.last, two.last) - Math.max(one.first, two.first) + 1)
      if (one.last < two.last) at++
      else facing++
    }
  }

  /** Two neighbours are written one by one, as upstream does. */
  toString(): string {
    return this.#intervals
      .map(({ first, last }) => (first === last ? `${first}` : `${first}${last === first + 1 ? ',' : '-'}${last}`))
      .join(',')
  }
}

function joined(intervals: Interval[]): Interval[] {
  intervals.sort((one, other) => one.first - other.first)
  const apart: Interval[] = []
  for (const { first, last } of intervals) {
    const before = apart.at(-1)
    if (before !== undefined && first <= before.last + 1) before.last = Math.max(before.last, last)
    else apart.push({ first, last })
  }
  return apart
}
