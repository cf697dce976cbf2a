import { formatTime } from '#api/meta/time.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { HttpClient } from '#base/http-client.ts'
import type { Logger } from '#base/log.ts'
import { ChangingPods } from '#kubelet/sources/changing-pods.ts'
import type { PodListener, StaticPodSource } from '#kubelet/sources/pod-source.ts'
import { staticPodsIn } from '#kubelet/sources/static-pod.ts'

export type PodUrlOptions = {
  url: string
  headers?: Record<string, string[]>
  node: string
  http: HttpClient
  clock: Clock
  logger: Logger
  checkMs?: number
}

const usualCheckMs = 20_000
const timeoutMs = 10_000

/** Static pods that a web server tells of, asked now and then. While it does not answer, what it said last holds. */
export class PodUrl implements StaticPodSource {
  readonly #options: PodUrlOptions
  readonly #pods = new ChangingPods()
  #last: string | undefined
  #hasFailed = false
  #timer: Timer | undefined

  constructor(options: PodUrlOptions) {
    this.#options = options
  }

  /** Resolves after the first try. */
  async start(): Promise<void> {
    const { clock, checkMs = usualCheckMs } = this.#options
    await this.#ask()
    this.#timer = clock.every(checkMs, () => void this.#ask())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  follow(listener: PodListener): Disposable {
    return this.#pods.follow(listener)
  }

  async #ask(): Promise<void> {
    const { url, logger } = this.#options
    try {
      await this.#askNow()
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) logger.warn('failed to read static pods from URL', { url, error: String(error) })
      this.#hasFailed = true
    }
  }

  async #askNow(): Promise<void> {
    const { url, headers = {}, node, http, clock } = this.#options
    const abort = new AbortController()
    const timer = clock.after(timeoutMs, () => abort.abort(new Error(`${url} does not answer`)))
    try {
      const response = await http.request({ url, headers, signal: abort.signal })
      const text = await response.text(10 << 20)
      if (response.status !== 200) throw new Error(`${url}: ${response.status}`)
      if (text === this.#last) return
      this.#last = text
      this.#pods.replace(text === '' ? [] : staticPodsIn(text, { source: 'http', node, place: url, now: formatTime(clock.now()) }))
    } finally {
      timer.cancel()
    }
  }
}
