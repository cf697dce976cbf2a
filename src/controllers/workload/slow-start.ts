import type { Clock } from '#base/clock.ts'

/** After so long others in the process get their turn. */
const turnMs = 8

export type SlowStart = {
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
  { clock, atOnce }: SlowStart,
  work: (index: number) => Promise<void>,
): Promise<{ done: number; error?: unknown }> {
  let done = 0
  let start = 0
  for (let size = Math.min(1, count); size > 0; size = Math.min(2 * size, count - start, atOnce)) {
    const begun: Promise<{ error: unknown } | undefined>[] = []
    for (let index = start; index < start + size; index++) {
      if (clock.heldMs() > turnMs) await new Promise<void>((resolve) => clock.soon(resolve))
      begun.push(
        work(index).then(
          () => undefined,
          (error: unknown) => ({ error }),
        ),
      )
    }
    const failures = (await Promise.all(begun)).filter((outcome) => outcome !== undefined)
    done += size - failures.length
    if (failures[0] !== undefined) return { done, error: failures[0].error }
    start += size
  }
  return { done }
}
