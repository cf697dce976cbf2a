/** Where every component gets its time from, so that a whole cluster can live in virtual time. */
export type Clock = {
  /** Milliseconds since the epoch, whole; may jump when the machine's clock is set. */
  now(): number
  /** Microseconds since the epoch, whole; for MicroTime fields. */
  nowMicros(): number
  /** Milliseconds, fractional, from an arbitrary origin; never goes back. For measuring. */
  monotonic(): number
  /**
   * For how long this thread has kept its sockets and timers waiting, as far as anybody has asked meanwhile: whoever has much
   * to do without them lets them have their turn (`soon`) when this grows. 0 where time is virtual, since nothing waits there.
   */
  heldMs(): number
  /** Calls `callback` once, no earlier than `delayMs` from now. */
  after(delayMs: number, callback: () => void): Timer
  /** Calls `callback` each `periodMs`, the first time one period from now. */
  every(periodMs: number, callback: () => void): Timer
  /** Calls `callback` after the promises that are settled now have run, before any timer. */
  soon(callback: () => void): void
  /** Resolves after `delayMs`; rejects with the signal's reason when it aborts first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>
}

/** Cancelling twice, or after the timer fired, does nothing. */
export type Timer = Disposable & { cancel(): void }

/** So that nobody takes the first moment of a turn for virtual time. */
const leastHeldMs = 0.001

/** When this process began, by the clock as it is set now. */
let originMs = performance.timeOrigin
const setClockMs = 10

/** The machine's time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  nowMicros() {
    const sinceStartMs = performance.now()
    const nowMs = Date.now()
    // Somebody has set the clock, or the machine has slept.
    if (Math.abs(originMs + sinceStartMs - nowMs) > setClockMs) originMs = nowMs - sinceStartMs
    return Math.floor((originMs + sinceStartMs) * 1000)
  },
  monotonic: () => performance.now(),
  heldMs() {
    const nowMs = performance.now()
    if (heldSinceMs === undefined) {
      heldSinceMs = nowMs - leastHeldMs
      setImmediate(endTurn)
    }
    return nowMs - heldSinceMs
  },
  after(delayMs, callback) {
    // Node turns delays past 2^31-1 ms into 1 ms; long waits are made of shorter ones.
    if (delayMs > longestDelayMs) {
      let timer: Timer = systemClock.after(longestDelayMs, () => {
        timer = systemClock.after(delayMs - longestDelayMs, callback)
      })
      return timerOf(() => timer.cancel())
    }
    const handle = setTimeout(callback, delayMs)
    return timerOf(() => clearTimeout(handle))
  },
  every(periodMs, callback) {
    if (periodMs > longestDelayMs) {
      let timer: Timer
      const next = () => {
        timer = systemClock.after(periodMs, () => {
          next()
          callback()
        })
      }
      next()
      return timerOf(() => timer.cancel())
    }
    const handle = setInterval(callback, periodMs)
    return timerOf(() => clearInterval(handle))
  },
  soon(callback) {
    setImmediate(callback)
  },
  sleep: (delayMs, signal) => sleepOn(systemClock, delayMs, signal),
}

let heldSinceMs: number | undefined
const endTurn = () => {
  heldSinceMs = undefined
}

const longestDelayMs = 2 ** 31 - 1

export function timerOf(cancel: () => void): Timer {
  return { cancel, [Symbol.dispose]: cancel }
}

/** `sleep` in terms of `after`: the same for every clock. */
export function sleepOn(clock: Pick<Clock, 'after'>, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
