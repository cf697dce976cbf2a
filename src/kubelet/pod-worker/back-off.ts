/** How long what failed waits before it is tried again, and since when that is so. */
export type BackOff = { delayMs: number; sinceMs: number }

const firstDelayMs = 10_000
const longestDelayMs = 300_000

/** What has gone well for so long begins anew. */
export const isForgotten = ({ sinceMs }: BackOff, atMs: number): boolean => atMs - sinceMs > 2 * longestDelayMs

/** After one more failure at `failedMs`: twice as long each time, up to `longestMs`. */
export function nextBackOff(backOff: BackOff | undefined, failedMs: number, nowMs: number, longestMs = longestDelayMs): BackOff {
  const isFirst = backOff === undefined || isForgotten(backOff, failedMs)
  return { delayMs: Math.min(longestMs, isFirst ? firstDelayMs : backOff.delayMs * 2), sinceMs: nowMs }
}
