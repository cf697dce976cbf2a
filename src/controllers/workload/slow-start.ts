/**
 * Does `work` `count` times in batches of 1, 2, 4, …, so that work which cannot succeed fails a few times and not thousands.
 * Stops after the first batch with a failure, and tells of it and of how often it succeeded.
 */
export async function inSlowStartBatches(
  count: number,
  work: (index: number) => Promise<void>,
): Promise<{ done: number; error?: unknown }> {
  let done = 0
  let start = 0
  for (let size = Math.min(1, count); size > 0; size = Math.min(2 * size, count - start)) {
    const first = start
    const outcomes = await Promise.allSettled(Array.from({ length: size }, (_, index) => work(first + index)))
    const failed = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
    done += outcomes.filter(({ status }) => status === 'fulfilled').length
    if (failed !== undefined) return { done, error: failed.reason }
    start += size
  }
  return { done }
}
