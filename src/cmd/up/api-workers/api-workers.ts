import { join } from 'node:path'
import type { V1Event } from '#api/audit/v1/types.gen.ts'
import type { ServerKeys } from '#apiserver/pki/server-keys.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { mergedMetrics } from '#base/merge-metrics.ts'
import { startThread, type Thread } from '#base/worker.ts'
import { copyOfKeys } from '#cmd/up/api-workers/copied-keys.ts'
import type { FromWorker, ToWorker } from '#cmd/up/api-workers/worker-messages.ts'
import type { ClusterAddresses } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import type { Store } from '#store/store.ts'
import { serveStore } from '#store/thread/serve-store.ts'

export type ApiWorkersParts = {
  store: Store
  keys: ServerKeys
  options: UpOptions
  addresses: ClusterAddresses
}
type Seams = { clock: Clock; files: Files; logger: Logger }

type Worker = {
  readonly thread: Thread<ToWorker, FromWorker>
  readonly ready: PromiseWithResolvers<void>
  readonly drained: PromiseWithResolvers<void>
  readonly metrics: Map<number, (text: string) => void>
}

const restartMs = 1000
/** Objects that live for a moment: requests and answers. */
const youngMegabytes = 64

/**
 * API servers in threads of their own, on the port of the first one, which is in the main thread. The store is the main thread's: a
 * worker reads and watches from a cache of its own that the store feeds, and writes by asking the main thread.
 */
export class ApiWorkers {
  readonly socketPath: string
  readonly #parts: ApiWorkersParts
  readonly #seams: Seams
  readonly #workers = new Set<Worker>()
  readonly #following = new DisposableStack()
  #keepAuditEvent: (event: V1Event) => void = () => {}
  #lastMetricsId = 0
  #isStopping = false

  constructor(parts: ApiWorkersParts, seams: Seams) {
    this.#parts = parts
    this.#seams = { ...seams, logger: seams.logger.with({ component: 'kube-apiserver' }) }
    this.socketPath = join(parts.options.dataDir, 'api-workers.sock')
  }

  /** A socket that is left over from a process that was killed would be in the way. */
  async prepare(): Promise<void> {
    await this.#seams.files.remove(this.socketPath)
  }

  /** Resolves when all of them serve. */
  async start({ port, keepAuditEvent }: { port: number; keepAuditEvent(event: V1Event): void }): Promise<void> {
    const { keys, options } = this.#parts
    this.#keepAuditEvent = keepAuditEvent
    this.#following.use(
      keys.onChange((changed) => {
        for (const { thread } of this.#workers) thread.post({ keys: copyOfKeys(keys), changed })
      }),
    )
    const others = Array.from({ length: options.apiWorkers - 1 }, () => this.#startOne(port))
    await Promise.all(others.map(({ ready }) => ready.promise))
  }

  /** The first server's metrics and those of the workers, as if there were one server. */
  async metricsText(ownText: string): Promise<string> {
    const id = ++this.#lastMetricsId
    const texts = [...this.#workers].map(
      ({ thread, metrics }) =>
        new Promise<string>((resolve) => {
          metrics.set(id, resolve)
          thread.post({ metrics: id })
        }),
    )
    return mergedMetrics([ownText, ...(await Promise.all(texts))])
  }

  async drain(deadline: Promise<void>): Promise<void> {
    this.#isStopping = true
    for (const { thread } of this.#workers) thread.post({ drain: true })
    await Promise.race([deadline, Promise.all([...this.#workers].map(({ drained }) => drained.promise))])
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#following.dispose()
    await Promise.all([...this.#workers].map(({ thread }) => thread.stop()))
  }

  #startOne(port: number): Worker {
    const { store, keys, options, addresses } = this.#parts
    const { clock, logger } = this.#seams
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const thread = startThread<ToWorker, FromWorker>(new URL(`./worker-thread.${extension}`, import.meta.url), { youngMegabytes })
    const worker: Worker = { thread, ready: Promise.withResolvers(), drained: Promise.withResolvers(), metrics: new Map() }
    this.#workers.add(worker)
    let receiveRequest: (request: Extract<FromWorker, { store: unknown }>['store']) => void = () => {}
    const serving = serveStore(store, {
      post: (message) => thread.post({ store: message }),
      onMessage: (receive) => {
        receiveRequest = receive
      },
    })
    thread.onMessage((message) => {
      if ('store' in message) receiveRequest(message.store)
      else this.#receive(worker, message)
    })
    thread.onExit((error) => {
      serving[Symbol.dispose]()
      this.#workers.delete(worker)
      worker.ready.reject(error ?? new Error('an API worker has ended'))
      worker.drained.resolve()
      for (const resolve of worker.metrics.values()) resolve('')
      if (this.#isStopping) return
      logger.warn('an API worker has ended, starting another', { error: error?.message ?? '' })
      clock.after(restartMs, () => {
        if (!this.#isStopping) this.#startOne(port)
      })
    })
    // Those who wait for it are told as well.
    worker.ready.promise.catch(() => {})
    thread.post({
      start: { options, addresses, port, socketPath: this.socketPath, keys: copyOfKeys(keys), logsDebug: logger.isDebug },
    })
    return worker
  }

  #receive(worker: Worker, message: Exclude<FromWorker, { store: unknown }>): void {
    if ('ready' in message) worker.ready.resolve()
    else if ('failed' in message) {
      this.#seams.logger.error('an API worker could not be started', { error: message.failed })
      worker.ready.reject(new Error(message.failed))
      // Another one is tried, unless the cluster does not start without it.
      void worker.thread.stop()
    } else if ('drained' in message) worker.drained.resolve()
    else if ('audit' in message) this.#keepAuditEvent(message.audit)
    else if ('log' in message) {
      const { level, message: text, fields } = message.log
      if (level !== 'silent') this.#seams.logger[level](text, fields)
    } else {
      worker.metrics.get(message.metrics)?.(message.text)
      worker.metrics.delete(message.metrics)
    }
  }
}
