import type { Clock } from '#base/clock.ts'
import { inSteps, type Steps } from '#base/steps.ts'

/** Of one turn of the event loop. */
const longestMs = 10

/** Does the steps, and lets sockets and timers have their turn in between; the result itself where it did not take long. */
export function inTurns<T>(steps: Steps<T>, clock: Pick<Clock, 'soon' | 'heldMs'>): T | Promise<T> {
  return inSteps(steps, () => (clock.heldMs() < longestMs ? undefined : new Promise((resolve) => clock.soon(resolve))))
}
