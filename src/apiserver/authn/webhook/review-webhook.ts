import type { WebhookTarget } from '#apiserver/authn/webhook/webhook-kubeconfig.ts'
import type { Clock } from '#base/clock.ts'
import { hasCode } from '#base/files.ts'
import type { HttpClient } from '#base/http-client.ts'
import type { Random } from '#base/random.ts'

export type ReviewWebhookOptions = {
  target: Pick<WebhookTarget, 'url' | 'headers'>
  http: HttpClient
  clock: Clock
  random: Random
  /** For all attempts together. */
  timeoutMs: number
  retry?: { firstDelayMs: number; attempts: number }
}

/** Sends a review to a service and resolves with the review it sends back. */
export type ReviewWebhook = (review: object) => Promise<Record<string, unknown>>

const answerLimitBytes = 1 << 20

/** What may be over the next time: the service is busy, or its connection broke. */
class Passing extends Error {}

/** Tries again after trouble that passes, each time half as much later; anything else is final. */
export function reviewWebhook(options: ReviewWebhookOptions): ReviewWebhook {
  const { target, http, clock, random, timeoutMs, retry = { firstDelayMs: 500, attempts: 5 } } = options
  return async (review) => {
    const abort = new AbortController()
    using _ = clock.after(timeoutMs, () => abort.abort(new Error(`the webhook ${target.url} did not answer within ${timeoutMs} ms`)))
    const body = JSON.stringify(review)
    let delayMs = retry.firstDelayMs
    for (let attempt = 1; ; attempt++) {
      try {
        return await post(http, target, body, abort.signal)
      } catch (error) {
        abort.signal.throwIfAborted()
        if (!(error instanceof Passing) || attempt >= retry.attempts) throw error
        await clock.sleep(delayMs * (1 + 0.2 * random.float()), abort.signal)
        delayMs *= 1.5
      }
    }
  }
}

async function post(
  http: HttpClient,
  { url, headers }: Pick<WebhookTarget, 'url' | 'headers'>,
  body: string,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const response = await http
    .request({ url, method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json', ...headers }, body, signal })
    .catch((error: unknown) => {
      throw hasCode(error, 'ECONNRESET') || hasCode(error, 'EPIPE') ? new Passing(String(error), { cause: error }) : error
    })
  const text = await response.text(answerLimitBytes)
  if (response.status < 200 || response.status > 299) {
    const message = `the webhook ${url} answered ${response.status}: ${text.slice(0, 200)}`
    const passes = [429, 500, 504].includes(response.status) || response.headers['retry-after'] !== undefined
    throw passes ? new Passing(message) : new Error(message)
  }
  const answer: unknown = JSON.parse(text)
  if (answer === null || typeof answer !== 'object' || Array.isArray(answer))
    throw new Error(`the webhook ${url} did not answer with an object`)
  return answer as Record<string, unknown>
}
