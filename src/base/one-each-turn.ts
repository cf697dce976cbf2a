import type { Clock } from '#base/clock.ts'

/**
 * For work that takes milliseconds each time and comes by the hundred: the result resolves in a turn of the event loop in which
 * nobody else has been let in, so that sockets and timers come between two of them. In order. Where time is virtual nobody waits:
 * there is nothing to come between, and who waits for the answer may be the one who moves the clock.
 */
export function oneEachTurn(clock: Pick<Clock, 'soon' | 'heldMs'>): () => Promise<void> {
  let waiting: (() => void)[] = []
  let nextIndex = 0
  let isTaken = false
  const letIn = (): void => {
    const next = waiting[nextIndex++]
    if (next === undefined) {
      waiting = []
      nextIndex = 0
      isTaken = false
      return
    }
    clock.soon(letIn)
    next()
  }
  return () => {
    const isVirtual = clock.heldMs() === 0
    if (isTaken && !(isVirtual && waiting.length === 0)) return new Promise((resolve) => waiting.push(resolve))
    if (isTaken) return Promise.resolve()
    isTaken = true
    clock.soon(letIn)
    return Promise.resolve()
  }
}
