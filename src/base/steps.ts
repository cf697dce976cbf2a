/** Work in steps, each of which ends with a `yield`: whoever runs it may let others in there. */
export type Steps<T> = Generator<void, T, void>

/** Without letting anybody in. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Lets others in between two steps where `giveWay` says that it is time to; the result itself where nobody was let in. */
export function inSteps<T>(steps: Steps<T>, giveWay: (() => Promise<void> | undefined) | undefined): T | Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    const way = giveWay?.()
    if (way !== undefined) return way.then(() => inSteps(steps, giveWay))
  }
}
