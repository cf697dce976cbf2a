import type { Clock } from '#base/clock.ts'

/**
 * For work that takes milliseconds each time and comes by the hundred: the result resolves in a turn of the event loop of its
 * own, after what its caller has done so far, so that sockets and timers come between two of them. In order. Where time is
 * virtual nobody waits: there is nothing to come between, and who waits for the answer may be the one who moves the clock.
 */
export function oneEachTurn(clock: Pick<Clock, 'soon' | 'heldMs'>): () => Promise<void> {
  let waiting: (() => void)[] = []
  let nextIndex = 0
  const letIn = (): void => {
    // What is done in this turn counts from here on, not from when somebody asks how long it has taken.
    clock.heldMs()
    const next = waiting[nextIndex++]
    if (nextIndex < waiting.length) clock.soon(letIn)
    else {
      waiting = []
      nextIndex = 0
    }
    next?.()
  }
  return () => {
    const isVirtual = clock.heldMs() === 0
    if (isVirtual) return Promise.resolve()
    return new Promise((resolve) => {
      if (waiting.push(resolve) === 1) clock.soon(letIn)
    })
  }
}
