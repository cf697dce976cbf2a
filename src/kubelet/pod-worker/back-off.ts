/** How long what failed waits before it is tried again, and since when that is so. */
export type BackOff = { delayMs: number; sinceMs: number }

const firstDelayMs = 10_000
const longestDelayMs = 300_000

/** What has gone well for so long begins anew. */
export const isForgotten = ({ sinceMs }: BackOff, atMs: number): boolean => atMs - sinceMs > 2 * longestDelayMs

/** After one more failure at `failedMs`: twice as long each time. */
export function nextBackOff(backOff: BackOff | undefined, failedMs: number, nowMs: number): BackOff {
  const isFirst = backOff === undefined || isForgotten(backOff, failedMs)
  return { delayMs: isFirst ? firstDelayMs : Math.min(longestDelayMs, backOff.delayMs * 2), sinceMs: nowMs }
}
