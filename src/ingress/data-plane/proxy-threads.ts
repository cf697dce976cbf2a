import { listenStreams } from '#base/byte-streams.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { startThread, type Thread } from '#base/worker.ts'
import type { ProxyListener, ProxyUpdate } from '#ingress/data-plane/ingress-proxy.ts'
import { ProxyConfiguration } from '#ingress/data-plane/proxy-configuration.ts'
import type { ProxyMetrics } from '#ingress/data-plane/proxy-metrics.ts'
import type { ThreadOrder, ThreadReport } from '#ingress/data-plane/proxy-thread.ts'

export type DataPlane = {
  /** Changes are in force a moment later. */
  apply(update: ProxyUpdate): void
  /** Rejects where the address cannot be had. Resolves with the port. */
  listen(at: Omit<ProxyListener, 'sharesPort'>): Promise<number>
  unlisten(at: Pick<ProxyListener, 'host' | 'port'>): void
  /** Takes no more, finishes what is under way within that time, and ends. */
  stop(drainMs: number): Promise<void>
}

type ProxyThread = Thread<ThreadOrder, ThreadReport>

const youngMegabytes = 16
const restartMs = 1000

/** The data plane in threads of its own, which share its ports: whoever else runs in the process is not held up by it. */
export class ProxyThreads implements DataPlane {
  readonly #threads = new Set<ProxyThread>()
  readonly #waiting = new Map<number, PromiseWithResolvers<number> & { thread: ProxyThread }>()
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #metrics: ProxyMetrics | undefined
  readonly #sharesPort: boolean
  /** The sum of all updates, for a thread that takes the place of another. */
  readonly #configuration = new ProxyConfiguration()
  readonly #listeners = new Map<string, ProxyListener>()
  #nextId = 1
  #isStopping = false

  constructor({ count, clock, logger, metrics }: { count: number; clock: Clock; logger: Logger; metrics?: ProxyMetrics }) {
    this.#metrics = metrics
    this.#clock = clock
    this.#logger = logger
    this.#sharesPort = count > 1
    for (let number = 0; number < count; number++) this.#start()
  }

  apply(update: ProxyUpdate): void {
    for (const { name, host } of this.#configuration.add(update)) this.#metrics?.remove(name, host)
    for (const thread of this.#threads) thread.post({ kind: 'update', update })
  }

  async listen(at: Omit<ProxyListener, 'sharesPort'>): Promise<number> {
    // A port that is shared may be shared with strangers of the same user: somebody else's is found out by asking for it alone.
    const alone = await listenStreams({ host: at.host, port: at.port, sharesPort: false, onStream: ({ stream }) => stream.destroy() })
    const { port } = alone
    alone.close()
    const place: ProxyListener = { ...at, port, sharesPort: this.#sharesPort }
    await Promise.all([...this.#threads].map((thread) => this.#ask(thread, (id) => ({ kind: 'listen', id, at: place }))))
    this.#listeners.set(`${at.host} ${port}`, place)
    return port
  }

  unlisten(at: Pick<ProxyListener, 'host' | 'port'>): void {
    this.#listeners.delete(`${at.host} ${at.port}`)
    for (const thread of this.#threads) thread.post({ kind: 'unlisten', at })
  }

  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true
    const threads = [...this.#threads]
    // A thread that has ended has no connections to wait for.
    await Promise.all(threads.map((thread) => this.#ask(thread, (id) => ({ kind: 'drain', id, forMs: drainMs })).catch(() => 0)))
    await Promise.all(threads.map((thread) => thread.stop()))
  }

  #start(): ProxyThread {
    // The same module, whether it runs from its source or from what was built of it.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const thread: ProxyThread = startThread(new URL(`./proxy-thread.${extension}`, import.meta.url), { youngMegabytes })
    thread.onMessage((report) => this.#onReport(report))
    thread.onExit((error) => this.#onExit(thread, error))
    this.#threads.add(thread)
    return thread
  }

  #ask(thread: ProxyThread, order: (id: number) => ThreadOrder): Promise<number> {
    const id = this.#nextId++
    const answer = Promise.withResolvers<number>()
    this.#waiting.set(id, { ...answer, thread })
    thread.post(order(id))
    return answer.promise
  }

  #onReport(report: ThreadReport): void {
    if (report.kind === 'complaint') {
      this.#logger.warn(report.message)
      return
    }
    if (report.kind === 'counts') {
      // What a route did in its last second would bring its numbers back.
      this.#metrics?.add(report.counts.filter(({ route, host }) => route === '' || this.#configuration.has(route, host)))
      return
    }
    const waiting = this.#waiting.get(report.id)
    this.#waiting.delete(report.id)
    if (report.kind === 'done') waiting?.resolve(report.port)
    else waiting?.reject(new Error(report.message))
  }

  #onExit(thread: ProxyThread, error: Error | undefined): void {
    this.#threads.delete(thread)
    for (const [id, waiting] of this.#waiting) {
      if (waiting.thread !== thread) continue
      this.#waiting.delete(id)
      waiting.reject(error ?? new Error('the thread has ended'))
    }
    if (this.#isStopping) return
    this.#logger.error('ingress: proxy thread exited, restarting it', { error: String(error?.stack ?? error) })
    this.#clock.after(restartMs, () => {
      if (!this.#isStopping) this.#replace()
    })
  }

  #replace(): void {
    const thread = this.#start()
    thread.post({ kind: 'update', update: this.#configuration.everything() })
    for (const at of this.#listeners.values())
      this.#ask(thread, (id) => ({ kind: 'listen', id, at })).catch((error: unknown) =>
        this.#logger.error('ingress: failed to listen again', { host: at.host, port: at.port, error: String(error) }),
      )
  }
}
