import type { Clock } from '#base/clock.ts'
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
      const stack = new DisposableStack()
      stack.use(runtime.onEvent((event) => event.podUid === podUid && look()))
      stack.use(clock.every(lookAgainMs, look))
      return stack
    },
  }
}
