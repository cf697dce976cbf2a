import type { Clock } from '#base/clock.ts'

/** Asks again only when the last answer is older than `lastsMs`. Those who come meanwhile share it; a failure is not kept. */
export function keptAnswer<T>(clock: Pick<Clock, 'monotonic'>, lastsMs: number, ask: () => Promise<T>): () => Promise<T> {
  let kept: { answer: Promise<T>; askedMs: number } | undefined
  return () => {
    const nowMs = clock.monotonic()
    if (kept !== undefined && nowMs - kept.askedMs < lastsMs) return kept.answer
    const asked = { answer: ask(), askedMs: nowMs }
    kept = asked
    asked.answer.catch(() => {
      if (kept === asked) kept = undefined
    })
    return asked.answer
  }
}
