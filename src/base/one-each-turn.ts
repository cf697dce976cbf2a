import type { Clock } from '#base/clock.ts'

/**
 * For work that takes milliseconds each time and comes by the hundred: the result resolves in a turn of the event loop in which
 * nobody else has been let in, so that sockets and timers come between two of them. In order.
 */
export function oneEachTurn(clock: Pick<Clock, 'soon'>): () => Promise<void> {
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
    if (isTaken) return new Promise((resolve) => waiting.push(resolve))
    isTaken = true
    clock.soon(letIn)
    return Promise.resolve()
  }
}
