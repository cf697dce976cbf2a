import type { Kind } from '#api/kind.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { notFound } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'

export type WatchedObjectsOptions<T extends KubernetesObject> = {
  client: Client
  kind: Kind<T>
  clock: Clock
  random: Random
  logger: Logger
  /** Called after an object has changed, once for each of its users. `isFirst`: it has just become known, as it was when it was asked for. */
  onChange(user: string, isFirst: boolean): void
}

type Watched<T extends KubernetesObject> = { informer: Informer<T>; users: Set<string>; tell(isFirst: boolean): void }

/**
 * The objects of one kind that pods of this node use, watched one by one: a node may see what its pods refer to by name,
 * and no other.
 */
export class WatchedObjects<T extends KubernetesObject & { immutable?: boolean }> {
  readonly #options: WatchedObjectsOptions<T>
  readonly #watched = new Map<string, Watched<T>>()

  constructor(options: WatchedObjectsOptions<T>) {
    this.#options = options
  }

  /** Watches exactly these for the user, and no more those it had before. */
  use(user: string, namespace: string, names: ReadonlySet<string>): void {
    for (const name of names) this.#watch(namespace, name).users.add(user)
    const wanted = new Set([...names].map((name) => `${namespace}/${name}`))
    for (const [key, watched] of this.#watched) {
      if (wanted.has(key) || !watched.users.delete(user) || watched.users.size > 0) continue
      watched.informer.stop()
      this.#watched.delete(key)
    }
  }

  /** The object as it is known here, or asked for when it is not watched (yet). Rejects with upstream's words when there is none. */
  async get(namespace: string, name: string): Promise<T> {
    const { client, kind } = this.#options
    const watched = this.#watched.get(`${namespace}/${name}`)
    const informer = watched?.informer
    const asked = informer?.hasSynced ? undefined : client.get(kind, namespace, name)
    const known = informer?.synced.then(() => informer.get(namespace, name))
    try {
      const object = await (known === undefined ? asked : asked === undefined ? known : Promise.race([asked, known]))
      if (object === undefined) throw this.#missing(name)
      // It may have changed between the two answers.
      if (asked !== undefined) {
        void known?.then((newest) => {
          if (newest?.metadata?.resourceVersion !== object.metadata?.resourceVersion) watched?.tell(false)
        })
      }
      // It can only be deleted any more, which the pod need not know.
      if (object.immutable && informer?.hasSynced) informer.stop()
      return object
    } catch (error) {
      throw isNotFound(error) ? this.#missing(name) : error
    }
  }

  stop(): void {
    for (const { informer } of this.#watched.values()) informer.stop()
    this.#watched.clear()
  }

  #watch(namespace: string, name: string): Watched<T> {
    const key = `${namespace}/${name}`
    const present = this.#watched.get(key)
    if (present !== undefined) return present
    const { client, kind, clock, random, logger, onChange } = this.#options
    const informer = new Informer<T>({ client, kind, clock, random, logger, namespace, fieldSelector: `metadata.name=${name}` })
    const users = new Set<string>()
    const tell = (isFirst: boolean) => {
      for (const user of users) onChange(user, isFirst)
    }
    const watched: Watched<T> = { informer, users, tell }
    informer.addHandler({ onAdd: () => tell(!informer.hasSynced), onUpdate: () => tell(false), onDelete: () => tell(false) })
    this.#watched.set(key, watched)
    informer.start()
    return watched
  }

  #missing(name: string): Error {
    return notFound({ group: '', resource: this.#options.kind.kind.toLowerCase() }, name)
  }
}
