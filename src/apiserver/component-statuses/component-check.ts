import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { HttpClient, HttpClientOptions } from '#base/http-client.ts'

/** How a component of the cluster is. What it throws is why it is not well. */
export type ComponentCheck = () => Promise<{ readonly isHealthy: boolean; readonly message: string }>

const patienceMs = 20_000

/** Asks a program on this machine over TLS, as upstream does, whoever its certificate is from. */
export function healthzCheck(
  port: number,
  { http, clock }: { http(options: HttpClientOptions): HttpClient; clock: Clock },
): ComponentCheck {
  return async () => {
    using client = http({ insecureSkipVerify: true })
    const url = `https://127.0.0.1:${port}/healthz`
    const isOver = new AbortController()
    const timer = clock.after(patienceMs, () => isOver.abort())
    try {
      const response = await client.request({ url, signal: isOver.signal })
      const text = await response.text(10 * 1024)
      const isHealthy = response.status >= 200 && response.status < 400
      return { isHealthy, message: isHealthy ? text : `HTTP probe failed with statuscode: ${response.status}` }
    } catch (error) {
      return { isHealthy: false, message: `Get "${url}": ${errorMessage(error)}` }
    } finally {
      timer[Symbol.dispose]()
    }
  }
}

/** By what is wrong with it, if anything. */
export const checkOf =
  (trouble: () => string | undefined | Promise<string | undefined>): ComponentCheck =>
  async () => {
    const wrong = await trouble()
    return { isHealthy: wrong === undefined, message: wrong ?? 'ok' }
  }
