import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import { type RemoteApi, remoteApiOf } from '#apiserver/aggregation/remote-api.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

/** The group versions that others serve, as the cluster has them now. */
export class RemoteApis {
  readonly #byName = new Map<string, RemoteApi>()
  readonly #listeners = new Set<(name: string, api: RemoteApi | undefined) => void>()
  #revision = 0

  /** Follows the objects from now on. */
  follow(cluster: ClusterView): Disposable {
    return cluster.onChange(APIService, (object, isDeleted) => this.#put(object, isDeleted))
  }

  /** Grows whenever one comes, goes or changes. */
  get revision(): number {
    return this.#revision
  }

  get size(): number {
    return this.#byName.size
  }

  get(group: string, version: string): RemoteApi | undefined {
    return this.#byName.size === 0 ? undefined : this.#byName.get(`${version}.${group}`)
  }

  named(name: string): RemoteApi | undefined {
    return this.#byName.get(name)
  }

  all(): Iterable<RemoteApi> {
    return this.#byName.values()
  }

  /** Calls back with the name of each that has changed, and what it is now. */
  onChange(listener: (name: string, api: RemoteApi | undefined) => void): void {
    this.#listeners.add(listener)
  }

  #put(object: V1APIService, isDeleted: boolean): void {
    const name = object.metadata.name ?? ''
    const api = isDeleted ? undefined : remoteApiOf(object)
    if (api === undefined && !this.#byName.has(name)) return
    if (api === undefined) this.#byName.delete(name)
    else this.#byName.set(name, api)
    this.#revision++
    for (const listener of this.#listeners) listener(name, api)
  }
}
