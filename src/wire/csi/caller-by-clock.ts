import type { Clock } from '#base/clock.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { CsiCaller } from '#wire/csi/csi-driver.ts'

/** The driver is given a little more, so that the end is ours and in the words that users know. */
const graceMs = 1000

/** A driver whose calls end in time by `clock`, whether it answers or not. */
export function callerByClock(caller: CsiCaller, clock: Clock): CsiCaller {
  return {
    async call(name, request, { timeoutMs, signal }) {
      const late = new AbortController()
      const timer = clock.after(timeoutMs, () => late.abort(new GrpcError(grpcCodes.deadlineExceeded, 'context deadline exceeded')))
      const over = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal])
      try {
        return await caller.call(name, request, { timeoutMs: timeoutMs + graceMs, signal: over })
      } finally {
        timer.cancel()
      }
    },
  }
}
