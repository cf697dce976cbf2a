import { timeout } from '#api/meta/status-error.ts'
import type { Clock } from '#base/clock.ts'

/** A timer may go off this much before its time: a call that ended with the request's time would seem to leave some. */
const earlyMs = 2

/** What a request may still take, in milliseconds. Throws when that is nothing: whoever goes on then would write what the client was told has failed. */
export function timeLeftMs(untilMs: number, clock: Pick<Clock, 'monotonic'>): number {
  const leftMs = untilMs - clock.monotonic()
  if (leftMs <= earlyMs) throw timeout('request did not complete within requested timeout')
  return leftMs
}
