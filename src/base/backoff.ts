/** Twice as long after each failure. `failures` counts those before this one. */
export function backoffMs(failures: number, { firstMs, longestMs }: { firstMs: number; longestMs: number }): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(failures, 60))
}
