import { listenStreams } from '#base/byte-streams.ts'
import type { Logger } from '#base/log.ts'
import { startThread, type Thread } from '#base/worker.ts'
import type { ProxyListener, ProxyUpdate } from '#ingress/data-plane/ingress-proxy.ts'
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

const youngMegabytes = 8

/** The data plane in threads of its own, which share its ports: whoever else runs in the process is not held up by it. */
export class ProxyThreads implements DataPlane {
  readonly #threads: Thread<ThreadOrder, ThreadReport>[]
  readonly #waiting = new Map<number, PromiseWithResolvers<number>>()
  readonly #logger: Logger
  #nextId = 1
  #isStopping = false

  constructor({ count, logger }: { count: number; logger: Logger }) {
    this.#logger = logger
    // The same module, whether it runs from its source or from what was built of it.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#threads = Array.from({ length: count }, () => {
      const thread = startThread<ThreadOrder, ThreadReport>(new URL(`./proxy-thread.${extension}`, import.meta.url), { youngMegabytes })
      thread.onMessage((report) => this.#onReport(report))
      thread.onExit((error) => this.#onExit(error))
      return thread
    })
  }

  apply(update: ProxyUpdate): void {
    for (const thread of this.#threads) thread.post({ kind: 'update', update })
  }

  async listen(at: Omit<ProxyListener, 'sharesPort'>): Promise<number> {
    // A port that is shared may be shared with strangers of the same user: somebody else's is found out by asking for it alone.
    const alone = await listenStreams({ host: at.host, port: at.port, sharesPort: false, onStream: ({ stream }) => stream.destroy() })
    const { port } = alone
    alone.close()
    const sharesPort = this.#threads.length > 1
    await Promise.all(this.#threads.map((thread) => this.#ask(thread, (id) => ({ kind: 'listen', id, at: { ...at, port, sharesPort } }))))
    return port
  }

  unlisten(at: Pick<ProxyListener, 'host' | 'port'>): void {
    for (const thread of this.#threads) thread.post({ kind: 'unlisten', at })
  }

  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#threads.map((thread) => this.#ask(thread, (id) => ({ kind: 'drain', id, forMs: drainMs }))))
    await Promise.all(this.#threads.map((thread) => thread.stop()))
  }

  #ask(thread: Thread<ThreadOrder, ThreadReport>, order: (id: number) => ThreadOrder): Promise<number> {
    const id = this.#nextId++
    const answer = Promise.withResolvers<number>()
    this.#waiting.set(id, answer)
    thread.post(order(id))
    return answer.promise
  }

  #onReport(report: ThreadReport): void {
    if (report.kind === 'complaint') {
      this.#logger.warn(report.message)
      return
    }
    const waiting = this.#waiting.get(report.id)
    this.#waiting.delete(report.id)
    if (report.kind === 'done') waiting?.resolve(report.port)
    else waiting?.reject(new Error(report.message))
  }

  #onExit(error: Error | undefined): void {
    if (!this.#isStopping) this.#logger.error('a thread of the ingress proxy has ended', { error: String(error?.stack ?? error) })
    for (const waiting of this.#waiting.values()) waiting.reject(error ?? new Error('the thread has ended'))
    this.#waiting.clear()
  }
}
