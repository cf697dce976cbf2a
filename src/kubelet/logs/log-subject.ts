import type { Clock, Timer } from '#base/clock.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'

/** The container whose output is read, as far as a reader that follows must know of it. */
export type LogSubject = {
  isRunning(): Promise<boolean>
  /** Something may have become of the container. May be called too often. */
  onChange(listener: () => void): Disposable
  /** Aborts when nobody reads any more. */
  readonly signal: AbortSignal
}

/** Events of runtimes may be lost. */
const lookAgainMs = 10_000
/** And they may come a moment before what they tell of can be seen. */
const lookOnceMoreMs = 500

export function logSubject(runtime: Runtime, podUid: string, containerId: string, clock: Clock, signal: AbortSignal): LogSubject {
  let mayHaveChanged = true
  let wasRunning = true
  return {
    signal,
    async isRunning() {
      if (!mayHaveChanged) return wasRunning
      mayHaveChanged = false
      const { containers } = await runtime.observe(podUid)
      wasRunning = containers.some(({ id, state }) => id === containerId && state === 'running')
      return wasRunning
    },
    onChange(listener) {
      const look = () => {
        mayHaveChanged = true
        listener()
      }
      let onceMore: Timer | undefined
      const stack = new DisposableStack()
      stack.use(
        runtime.onEvent((event) => {
          if (event.podUid !== podUid) return
          look()
          onceMore?.cancel()
          onceMore = clock.after(lookOnceMoreMs, look)
        }),
      )
      stack.use(clock.every(lookAgainMs, look))
      stack.defer(() => onceMore?.cancel())
      return stack
    },
  }
}
