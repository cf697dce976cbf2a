/** A copy of what a server holds of one kind, kept up to date by a watch, with those who want to hear of changes. */

import type { Kind } from '#api/kind.ts'
import { deepFreeze } from '#api/meta/deep-copy.ts'
import { isExpired } from '#api/meta/server-response.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { backoffMs } from '#base/backoff.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { stackOf } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client, ListOptions } from '#client/client.ts'
import { type IndexFunction, keyOf, ObjectStore, objectKey } from '#client/informer/object-store.ts'
import { isOlderVersion, newerVersion } from '#client/resource-version.ts'
import type { WatchEvent } from '#client/watch-events.ts'

/** Called in the order of changes, after the copy has been changed. Must not wait; what it throws is logged, and the next change told. */
export type InformerHandler<T> = {
  /** Also called for everything there is when the handler is added. */
  onAdd?(object: T): void
  onUpdate?(next: T, prev: T): void
  /** The last state that was seen, which after a cut connection may not be the last there was. */
  onDelete?(object: T): void
}

export type InformerOptions<T extends KubernetesObject> = Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'> & {
  client: Client
  kind: Kind<T>
  clock: Clock
  random: Random
  logger: Logger
  /** Tells handlers of every object again, as an update, this often. Absent: never. */
  resyncMs?: number
  /** Asks for the present state as events of the watch instead of a list. Falls back to lists by itself. */
  prefersWatchList?: boolean
  /** Drops who manages which field, which nobody here reads: it is more than half of many objects. */
  forgetsManagers?: boolean
  /** Freezes objects, so that a handler that changes one is found out. */
  freezesObjects?: boolean
}

const firstBackoffMs = 800
const longestBackoffMs = 30_000
const endOfInitialEvents = 'k8s.io/initial-events-end'

/** By which servers refuse to send the state as events; 500 is upstream's over an etcd that cannot tell of progress. */
const noWatchList: ReadonlySet<number> = new Set([400, 422, 500])

/**
 * ```
 * list ──> watch ──ended──> watch from the last version seen
 *  ^         └──expired, or the list is needed again
 *  └──────────────┘
 * ```
 */
export class Informer<T extends KubernetesObject = KubernetesObject> {
  readonly kind: Kind<T>
  readonly #options: InformerOptions<T>
  readonly #store = new ObjectStore<T>()
  readonly #handlers = new Set<InformerHandler<T>>()
  readonly #synced = Promise.withResolvers<void>()
  #version = ''
  #hasSynced = false
  #usesWatchList: boolean
  #waiting: { holds(): boolean; resolve(): void }[] = []
  #abort: AbortController | undefined

  constructor(options: InformerOptions<T>) {
    this.#options = options
    this.kind = options.kind
    this.#usesWatchList = options.prefersWatchList ?? true
    this.#store.addIndex('namespace', ({ metadata }) => [metadata?.namespace ?? ''])
  }

  get(namespace: string, name: string): T | undefined {
    return this.#store.get(objectKey(namespace, name))
  }
  list(namespace = ''): readonly T[] {
    return namespace === '' ? [...this.#store.values()] : this.#store.byIndex('namespace', namespace)
  }
  byIndex(name: string, value: string): readonly T[] {
    return this.#store.byIndex(name, value)
  }
  addIndex(name: string, of: IndexFunction<T>): void {
    this.#store.addIndex(name, (object) => {
      try {
        return of(object)
      } catch (error) {
        this.#tellOf(object, error, 'index failed')
        return []
      }
    })
  }
  get size(): number {
    return this.#store.size
  }

  /** Whether the whole present state has been seen once. */
  get hasSynced(): boolean {
    return this.#hasSynced
  }
  get synced(): Promise<void> {
    return this.#synced.promise
  }
  /** Everything up to this version has been seen. */
  get version(): string {
    return this.#version
  }

  addHandler(handler: InformerHandler<T>): Disposable {
    this.#handlers.add(handler)
    for (const object of this.#store.values()) {
      try {
        handler.onAdd?.(object)
      } catch (error) {
        this.#tellOf(object, error)
      }
    }
    return { [Symbol.dispose]: () => this.#handlers.delete(handler) }
  }

  /** Resolves once everything up to the version has been seen. */
  whenSeen(version: string): Promise<void> {
    return this.when(() => this.hasSeen(version))
  }
  /** Resolves once `holds`, which is asked after every change. */
  when(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ holds, resolve }))
  }
  hasSeen(version: string): boolean {
    return !isOlderVersion(this.#version, version)
  }

  start(): void {
    if (this.#abort !== undefined) return
    const abort = new AbortController()
    this.#abort = abort
    const { clock, resyncMs } = this.#options
    const resync = resyncMs === undefined ? undefined : clock.every(resyncMs, () => this.#resync())
    abort.signal.addEventListener('abort', () => resync?.cancel())
    void this.#follow(abort.signal)
  }

  stop(): void {
    this.#abort?.abort()
    this.#abort = undefined
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options
    let failures = 0
    while (!signal.aborted) {
      const startedMs = clock.now()
      try {
        if (!this.#hasSynced || this.#version === '') {
          if (!this.#usesWatchList) await this.#relist()
        }
        await this.#watch(signal)
        if (clock.now() - startedMs > 1000) failures = 0
      } catch (error) {
        if (signal.aborted) return
        if (isExpired(error)) {
          this.#version = ''
          continue
        }
        if (this.#usesWatchList && this.#version === '' && error instanceof StatusError && noWatchList.has(error.code)) {
          this.#usesWatchList = false
          continue
        }
        if (clock.now() - startedMs > 10_000) failures = 0
        logger.debug('watch failed, retrying', { kind: this.kind.kind, error: String(error) })
      }
      if (signal.aborted) return
      // A watch that ended quickly and in peace may be opened again soon, but not in a tight loop.
      const pauseMs = backoffMs(failures++, { firstMs: firstBackoffMs, longestMs: longestBackoffMs })
      await clock.sleep(pauseMs * (0.5 + random.float()), signal).catch(() => undefined)
    }
  }

  async #relist(): Promise<void> {
    const { client, kind } = this.#options
    const list = await client.list(kind, { ...this.#selection(), resourceVersion: this.#hasSynced ? '' : '0' })
    this.#replace(list.items, list.metadata?.resourceVersion ?? '')
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, kind } = this.#options
    const wantsState = this.#version === ''
    const batches = client.watchBatches(kind, {
      ...this.#selection(),
      allowWatchBookmarks: true,
      // Watches of all clients do not end at once, and a dead connection is noticed.
      timeoutSeconds: 300 + this.#options.random.int(300),
      signal,
      ...(wantsState ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : { resourceVersion: this.#version }),
    })
    let initial: T[] | undefined = wantsState ? [] : undefined
    for await (const batch of batches) {
      for (const event of batch) {
        if (signal.aborted) return
        if (initial === undefined) {
          this.#apply(event)
        } else if (event.type === 'BOOKMARK' && event.object.metadata?.annotations?.[endOfInitialEvents] === 'true') {
          this.#replace(initial, event.object.metadata.resourceVersion ?? '')
          initial = undefined
        } else if (event.type === 'ADDED') {
          initial.push(event.object)
        }
      }
    }
  }

  #apply({ type, object }: WatchEvent<T>): void {
    const version = object.metadata?.resourceVersion ?? ''
    if (type !== 'BOOKMARK') {
      const key = keyOf(object)
      if (type === 'DELETED') this.#remove(key, object)
      else this.#put(key, object)
    }
    this.#saw(version)
  }

  #put(key: string, seen: T): void {
    const object = this.#options.forgetsManagers ? withoutManagers(seen) : seen
    if (this.#options.freezesObjects) deepFreeze(object)
    const previous = this.#store.set(key, object)
    for (const handler of this.#handlers) {
      try {
        if (previous === undefined) handler.onAdd?.(object)
        else if (previous.metadata?.uid === object.metadata?.uid) handler.onUpdate?.(object, previous)
        else {
          handler.onDelete?.(previous)
          handler.onAdd?.(object)
        }
      } catch (error) {
        this.#tellOf(object, error)
      }
    }
  }

  #remove(key: string, last: T): void {
    if (this.#store.delete(key) === undefined) return
    for (const handler of this.#handlers) {
      try {
        handler.onDelete?.(last)
      } catch (error) {
        this.#tellOf(last, error)
      }
    }
  }

  #replace(objects: readonly T[], version: string): void {
    const keys = new Set<string>()
    for (const object of objects) {
      const key = keyOf(object)
      keys.add(key)
      const known = this.#store.get(key)?.metadata
      if (known?.uid !== object.metadata?.uid || known?.resourceVersion !== object.metadata?.resourceVersion) this.#put(key, object)
    }
    for (const key of [...this.#store.keys()]) {
      const gone = keys.has(key) ? undefined : this.#store.get(key)
      if (gone !== undefined) this.#remove(key, gone)
    }
    this.#version = ''
    this.#saw(version)
    if (this.#hasSynced) return
    this.#hasSynced = true
    this.#synced.resolve()
  }

  #saw(version: string): void {
    this.#version = newerVersion(this.#version, version)
    if (this.#waiting.length === 0) return
    this.#waiting = this.#waiting.filter(({ holds, resolve }) => {
      if (!holds()) return true
      resolve()
      return false
    })
  }

  #resync(): void {
    for (const object of this.#store.values()) {
      for (const handler of this.#handlers) {
        try {
          handler.onUpdate?.(object, object)
        } catch (error) {
          this.#tellOf(object, error)
        }
      }
    }
  }

  /** One object that somebody cannot cope with: were it thrown, the same event would come again and again, and no other after it. */
  #tellOf(object: T, error: unknown, what = 'handler failed'): void {
    this.#options.logger.error(`informer: ${what}`, { kind: this.kind.kind, object: keyOf(object), error: stackOf(error) })
  }

  #selection() {
    const { namespace, labelSelector, fieldSelector } = this.#options
    return {
      ...defined({ namespace, labelSelector, fieldSelector }),
    }
  }
}

function withoutManagers<T extends KubernetesObject>(object: T): T {
  if (object.metadata?.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
