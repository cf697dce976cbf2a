/** Prometheus, as much of its HTTP API as the adapter asks. */
import type { Clock } from '#base/clock.ts'
import type { HttpClient } from '#base/http-client.ts'
import { trimEndOf } from '#base/trim-end.ts'

export type Labels = Readonly<Record<string, string>>
export type PrometheusSample = { readonly labels: Labels; readonly value: number; readonly timeMs: number }

const answerLimitBytes = 64 * 1024 * 1024
const patienceMs = 30_000

export class Prometheus {
  readonly #url: string
  readonly #http: HttpClient
  readonly #clock: Clock

  constructor({ url, http, clock }: { url: string; http: HttpClient; clock: Clock }) {
    this.#url = trimEndOf(url, '/')
    this.#http = http
    this.#clock = clock
  }

  /** The label sets of all series that match and had a sample since then. */
  series(match: string, sinceMs: number): Promise<Labels[]> {
    return this.#ask<Labels[]>('series', { 'match[]': match, start: String(sinceMs / 1000) })
  }

  /** The value of an expression now: of each of its series, or one without labels. */
  async query(expression: string): Promise<PrometheusSample[]> {
    const { resultType, result } = await this.#ask<QueryResult>('query', { query: expression })
    if (resultType === 'scalar') return [sampleOf({}, result as RawSample)]
    if (resultType === 'vector')
      return (result as { metric: Labels; value: RawSample }[]).map(({ metric, value }) => sampleOf(metric, value))
    if (resultType === 'matrix')
      return (result as { metric: Labels; values: RawSample[] }[]).flatMap(({ metric, values }) =>
        values.slice(-1).map((last) => sampleOf(metric, last)),
      )
    throw new Error(`Prometheus answered with a ${resultType} to ${expression}`)
  }

  async #ask<T>(path: string, query: Record<string, string>): Promise<T> {
    const isOver = new AbortController()
    const timer = this.#clock.after(patienceMs, () => isOver.abort(new Error(`${this.#url} did not answer within ${patienceMs / 1000}s`)))
    try {
      const response = await this.#http.request({
        url: `${this.#url}/api/v1/${path}`,
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(query).toString(),
        signal: isOver.signal,
      })
      const text = await response.text(answerLimitBytes)
      const answer = parsed<T>(text)
      if (answer?.status === 'success') return answer.data
      throw new Error(`Prometheus refused ${path}: ${answer?.error ?? `status ${response.status}`}`)
    } finally {
      timer.cancel()
    }
  }
}

type RawSample = readonly [number, string]
type QueryResult = { resultType: string; result: unknown }

const sampleOf = (labels: Labels, [seconds, value]: RawSample): PrometheusSample => ({
  labels,
  value: Number(value),
  timeMs: seconds * 1000,
})

function parsed<T>(text: string): { status: string; data: T; error?: string } | undefined {
  try {
    return JSON.parse(text) as { status: string; data: T; error?: string }
  } catch {
    return undefined
  }
}
