/** How long a request may take, its body included: what the client asks for, and no longer than the server allows. */

import { badRequest, timeout } from '#api/meta/status-error.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { TrackedExchange } from '#apiserver/http/tracked-exchange.ts'
import { isLongRunning } from '#apiserver/metrics/labels.ts'
import type { Clock } from '#base/clock.ts'
import { DurationError, parseDurationMs } from '#base/duration.ts'

/** As upstream's `--request-timeout`. */
export const defaultRequestTimeoutMs = 60_000

/** Undefined for requests that have no deadline: watches, exec and their like. Throws the 400 of a `timeout` that is none. */
export function requestTimeoutMs(info: RequestInfo, query: URLSearchParams, limitMs: number): number | undefined {
  if (isLongRunning(info)) return undefined
  const asked = query.get('timeout')
  if (!asked) return limitMs
  try {
    const askedMs = parseDurationMs(asked)
    return askedMs > 0 && askedMs < limitMs ? askedMs : limitMs
  } catch (error) {
    if (!(error instanceof DurationError)) throw error
    throw badRequest(`invalid timeout specified in the request URL - ${error.message}`)
  }
}

/** Gives up on an exchange that was not answered in time. What was begun for it goes on; nobody hears of it any more. */
export function giveUpAfter(exchange: TrackedExchange, timeoutMs: number, clock: Clock): Disposable {
  const timer = clock.after(timeoutMs, () => {
    const { status } = timeout('request did not complete within the allotted timeout')
    exchange.giveUp(504, { 'content-type': 'application/json' }, JSON.stringify(status))
  })
  return { [Symbol.dispose]: () => timer.cancel() }
}
