/** Requests at a bearable rate, and once more where the server says when: as Go's client does. */
import type { Clock } from '#base/clock.ts'
import type { Transport, TransportRequest, TransportResponse } from '#client/transport.ts'
import { TokenBucket } from '#client/work-queue/rate-limiter.ts'

export type PatientOptions = {
  transport: Transport
  server: string
  clock: Clock
  /** In the form of Go's log, from this level of `-v` on. */
  say(level: number, place: string, text: string): void
}

const mostRetries = 10
const longWaitMs = 50
const extraLongWaitMs = 1_000
/** Long waits are told once in a while, so that many of them do not fill the screen. */
const toldAgainMs = 10_000

export function patientTransport({ transport, server, clock, say }: PatientOptions): Transport {
  // kubectl allows its discovery as many; its other requests are held up at 5 a second, which users complain of.
  const bucket = new TokenBucket(clock, { perSecond: 50, burst: 300 })
  let toldMs = Number.NEGATIVE_INFINITY

  const throttle = async ({ method, target, signal }: TransportRequest, reason: string): Promise<void> => {
    const waitMs = bucket.reserveMs()
    if (waitMs === 0) return
    await clock.sleep(waitMs, signal)
    if (waitMs <= longWaitMs) return
    const isTold = waitMs > extraLongWaitMs && clock.now() - toldMs >= toldAgainMs
    if (isTold) toldMs = clock.now()
    const what = `delay="${durationText(waitMs)}" reason=${JSON.stringify(reason)} verb="${method}" URL=${JSON.stringify(`${server}${target}`)}`
    say(isTold ? 0 : 3, 'request.go:683', `"Waited before sending request" ${what}`)
  }

  return {
    async send(request) {
      await throttle(request, 'client-side throttling, not priority and fairness')
      for (let attempt = 1; ; attempt++) {
        const response = await transport.send(request)
        const seconds = attempt > mostRetries ? undefined : retryAfterSeconds(response)
        if (seconds === undefined) return response
        // The connection is free for the next attempt only once the answer was read.
        await response.text().catch(() => '')
        await clock.sleep(seconds * 1000, request.signal)
        await throttle(request, `retries: ${attempt}, retry-after: ${seconds}s - retry-reason: ${reasonOf(response)}`)
        say(
          4,
          'with_retry.go:234',
          `"Got a Retry-After response" delay="${seconds}s" attempt=${attempt} url=${JSON.stringify(`${server}${request.target}`)}`,
        )
      }
    },
  }
}

/** Undefined where the server does not ask for patience. */
function retryAfterSeconds({ status, header }: TransportResponse): number | undefined {
  if (status !== 429 && status < 500) return undefined
  const text = header('retry-after') ?? ''
  return /^\d+$/.test(text) ? Number(text) : undefined
}

function reasonOf({ status, header }: TransportResponse): string {
  if (status !== 429) return String(status)
  return `due to server-side throttling, FlowSchema UID: ${JSON.stringify(header('x-kubernetes-pf-flowschema-uid') ?? '')}`
}

/** As Go writes lengths of time: `1.5s`, `80ms`. */
const durationText = (ms: number): string => (ms >= 1000 ? `${Number((ms / 1000).toFixed(3))}s` : `${Math.round(ms)}ms`)
