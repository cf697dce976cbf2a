/** Two ways of doing the same, measured in turn: what the machine does beside it hits both, and shows in the spread. */
import type { Bench } from '../../scripts/bench.ts'

/** Requests a second, and what one of them costs the servers: the latter is steady where the former is not. */
export type Figures = { perSecond: number; cpuMicros: number }
export type Pair = { one: Figures; two: Figures }

export async function inTurn(
  rounds: number,
  { one, two }: { one(round: number): Promise<Figures>; two(round: number): Promise<Figures> },
): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (let round = 0; round < rounds; round++) {
    // Neither has always the first turn.
    if (round % 2 === 0) {
      const first = await one(round)
      pairs.push({ one: first, two: await two(round) })
    } else {
      const second = await two(round)
      pairs.push({ one: await one(round), two: second })
    }
  }
  return pairs
}

/** The median of the pairs' ratios, with the least and the most. */
export function reportPairs(
  bench: Bench,
  pairs: readonly Pair[],
  { case: what, each, by }: { case: string; each: string; by: string },
): void {
  const rows: [suffix: string, unit: string, of: (figures: Figures) => number][] = [
    [`, ${each}`, '/s', ({ perSecond }) => perSecond],
    [': CPU of the servers', 'µs each', ({ cpuMicros }) => cpuMicros],
  ]
  for (const [suffix, unit, of] of rows) {
    const ratios = pairs.map(({ one, two }) => of(two) / of(one))
    const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
    const usual = Math.round(median(pairs.map(({ one }) => of(one)))).toLocaleString('en')
    bench.report({
      ...{ case: `${what}${suffix}`, figure: median(pairs.map(({ two }) => of(two))), unit, ratio: median(ratios) },
      comparedWith: `${usual} by ${by}; ${pairs.length} pairs, ${least.toFixed(2)} to ${most.toFixed(2)}`,
    })
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}
