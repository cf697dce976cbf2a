/** Counters, gauges and histograms, printed in Prometheus' text format. */

export type Labels = Readonly<Record<string, string>>

export type Counter = {
  inc(labels?: Labels, by?: number): void /** The child for fixed labels, without the lookup. */
  with(labels: Labels): { inc(by?: number): void }
  /** What the labels stand for is gone. */
  remove(labels: Labels): void
}
export type Gauge = { set(value: number, labels?: Labels): void; add(by: number, labels?: Labels): void }
export type Histogram = {
  observe(value: number, labels?: Labels): void
  /** What was observed elsewhere: how many within each bucket, and beyond the last. */
  add(counts: readonly number[], sum: number, labels?: Labels): void
  with(labels: Labels): { observe(value: number): void }
  remove(labels: Labels): void
}

type Family = { name: string; help: string; type: 'counter' | 'gauge' | 'histogram'; write(lines: string[]): void }

export class Metrics {
  readonly #families = new Map<string, Family>()

  counter(name: string, help: string): Counter {
    const series = this.#seriesOf(name, help, 'counter', () => ({ value: 0 }))
    return {
      inc: (labels, by = 1) => {
        series.get(labels).value += by
      },
      with: (labels) => {
        const child = series.get(labels)
        return {
          inc: (by = 1) => {
            child.value += by
          },
        }
      },
      remove: (labels) => series.remove(labels),
    }
  }

  gauge(name: string, help: string): Gauge {
    const series = this.#seriesOf(name, help, 'gauge', () => ({ value: 0 }))
    return {
      set: (value, labels) => {
        series.get(labels).value = value
      },
      add: (by, labels) => {
        series.get(labels).value += by
      },
    }
  }

  /** A gauge, or a counter that somebody else counts, whose values are asked for when the metrics are read. */
  measured(
    name: string,
    help: string,
    read: () => Iterable<readonly [Labels, number]> | number | undefined,
    type: 'gauge' | 'counter' = 'gauge',
  ): void {
    this.#add({
      name,
      help,
      type,
      write(lines) {
        const values = read()
        if (values === undefined) return
        if (typeof values === 'number') lines.push(`${name} ${printed(values)}`)
        else for (const [labels, value] of values) lines.push(`${name}${braces(labels)} ${printed(value)}`)
      },
    })
  }

  histogram(name: string, help: string, buckets: readonly number[]): Histogram {
    const series = new Series(() => new HistogramChild(buckets))
    this.#add({
      name,
      help,
      type: 'histogram',
      write(lines) {
        for (const [labels, child] of series.entries()) child.write(lines, name, labels)
      },
    })
    return {
      observe: (value, labels) => series.get(labels).observe(value),
      add: (counts, sum, labels) => series.get(labels).add(counts, sum),
      with: (labels) => series.get(labels),
      remove: (labels) => series.remove(labels),
    }
  }

  /** Everything, as `text/plain; version=0.0.4`. */
  text(): string {
    const lines: string[] = []
    for (const family of this.#families.values()) {
      const start = lines.length
      lines.push(`# HELP ${family.name} ${family.help}`, `# TYPE ${family.name} ${family.type}`)
      family.write(lines)
      if (lines.length === start + 2) lines.length = start
    }
    return lines.length === 0 ? '' : `${lines.join('\n')}\n`
  }

  #seriesOf(name: string, help: string, type: 'counter' | 'gauge', make: () => { value: number }): Series<{ value: number }> {
    const series = new Series(make)
    this.#add({
      name,
      help,
      type,
      write(lines) {
        for (const [labels, { value }] of series.entries()) lines.push(`${name}${braces(labels)} ${printed(value)}`)
      },
    })
    return series
  }

  #add(family: Family): void {
    if (this.#families.has(family.name)) throw new Error(`the metric ${family.name} is declared twice`)
    this.#families.set(family.name, family)
  }
}

/** The children of a metric, one for each set of label values. */
class Series<T> {
  readonly #children = new Map<string, { labels: Labels; child: T }>()
  readonly #make: () => T

  constructor(make: () => T) {
    this.#make = make
  }
  get(labels: Labels = {}): T {
    const key = keyOf(labels)
    let found = this.#children.get(key)
    if (found === undefined) {
      found = { labels, child: this.#make() }
      this.#children.set(key, found)
    }
    return found.child
  }
  remove(labels: Labels): void {
    this.#children.delete(keyOf(labels))
  }
  *entries(): Iterable<[Labels, T]> {
    for (const { labels, child } of this.#children.values()) yield [labels, child]
  }
}

function keyOf(labels: Labels): string {
  let key = ''
  for (const name in labels) key += `${name}\u0000${labels[name]}\u0000`
  return key
}

class HistogramChild {
  readonly #bounds: readonly number[]
  // A plain list: the memory of typed arrays of this length lies elsewhere, and costs twice as much to keep.
  readonly #counts: number[]
  #sum = 0
  #count = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Array<number>(bounds.length).fill(0)
  }
  observe(value: number): void {
    this.#sum += value
    this.#count++
    const bounds = this.#bounds
    for (let index = 0; index < bounds.length; index++) {
      if (value <= (bounds[index] as number)) {
        this.#counts[index] = (this.#counts[index] as number) + 1
        return
      }
    }
  }
  add(counts: readonly number[], sum: number): void {
    this.#sum += sum
    for (const [index, count] of counts.entries()) {
      this.#count += count
      if (index < this.#counts.length) this.#counts[index] = (this.#counts[index] as number) + count
    }
  }
  write(lines: string[], name: string, labels: Labels): void {
    // A server has tens of thousands of buckets: their labels are put together once for all of a child.
    const pairs = pairsOf(labels)
    const bucket = `${name}_bucket{${pairs}${pairs === '' ? '' : ','}le="`
    const own = pairs === '' ? '' : `{${pairs}}`
    let cumulative = 0
    for (let index = 0; index < this.#bounds.length; index++) {
      cumulative += this.#counts[index] as number
      lines.push(`${bucket}${printed(this.#bounds[index] as number)}"} ${cumulative}`)
    }
    lines.push(`${bucket}+Inf"} ${this.#count}`)
    lines.push(`${name}_sum${own} ${printed(this.#sum)}`, `${name}_count${own} ${this.#count}`)
  }
}

function braces(labels: Labels): string {
  const pairs = pairsOf(labels)
  return pairs === '' ? '' : `{${pairs}}`
}

const special = /[\\"\n]/

/** `name="value",…` */
function pairsOf(labels: Labels): string {
  let pairs = ''
  for (const name in labels) {
    const value = labels[name] as string
    pairs += `${pairs === '' ? '' : ','}${name}="${special.test(value) ? escaped(value) : value}"`
  }
  return pairs
}

const escaped = (value: string): string => value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))

function printed(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}

/** `count` bounds, each `factor` times the one before. */
export function exponentialBuckets(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => start * factor ** index)
}
