/** Much work of the same kind, some of it at a time. */
import type { Clock } from '#base/clock.ts'

/** After so long others in the process get their turn. */
const turnMs = 8

export type Pace = {
  clock: Pick<Clock, 'soon' | 'heldMs'>
  /** No batch is larger than this. */
  atOnce: number
}

/**
 * Does `work` `count` times in batches of 1, 2, 4, …, so that work which cannot succeed fails a few times and not thousands.
 * Stops after the first batch with a failure, and tells of it and of how often it succeeded.
 */
export async function inSlowStartBatches(
  count: number,
  { clock, atOnce }: Pace,
  work: (index: number) => Promise<void>,
): Promise<{ done: number; error?: unknown }> {
  let done = 0
  let start = 0
  for (let size = Math.min(1, count); size > 0; size = Math.min(2 * size, count - start, atOnce)) {
    const outcomes = await batch(start, size, clock, work)
    const failed = firstFailure(outcomes)
    done += outcomes.filter(({ status }) => status === 'fulfilled').length
    if (failed !== undefined) return { done, error: failed.reason }
    start += size
  }
  return { done }
}

/** Does it for each, whatever fails. */
export async function inBatches<T>(
  items: readonly T[],
  { clock, atOnce }: Pace,
  work: (item: T) => Promise<void>,
): Promise<PromiseSettledResult<void>[]> {
  const outcomes: PromiseSettledResult<void>[] = []
  for (let start = 0; start < items.length; start += atOnce) {
    const size = Math.min(atOnce, items.length - start)
    for (const outcome of await batch(start, size, clock, (index) => work(items[index] as T))) outcomes.push(outcome)
  }
  return outcomes
}

export function firstFailure(outcomes: readonly PromiseSettledResult<void>[]): PromiseRejectedResult | undefined {
  return outcomes.find((outcome) => outcome.status === 'rejected')
}

async function batch(
  start: number,
  size: number,
  clock: Pace['clock'],
  work: (index: number) => Promise<void>,
): Promise<PromiseSettledResult<void>[]> {
  const begun: Promise<PromiseSettledResult<void>>[] = []
  for (let index = start; index < start + size; index++) {
    if (clock.heldMs() > turnMs) await new Promise<void>((resolve) => clock.soon(resolve))
    // Settled each by itself: one that fails while others are still begun is nobody's surprise.
    begun.push(
      work(index).then(
        (value) => ({ status: 'fulfilled', value }),
        (reason: unknown) => ({ status: 'rejected', reason }),
      ),
    )
  }
  return Promise.all(begun)
}
