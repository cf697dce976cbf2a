/** What an extension server must know of the cluster it stands behind, beside its own objects: as one view, for admission. */
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/kinds.gen.ts'
import { Endpoints, Namespace, Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import type { Kind } from '#api/kind.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { DelegationSeams } from '#apiserver/delegation/delegated-reviews.ts'
import { Informer } from '#client/informer/informer.ts'

/** Followed from the start. */
const always: readonly Kind[] = [Namespace, MutatingWebhookConfiguration, ValidatingWebhookConfiguration]
/** Followed once a webhook is named by its service. */
const forServices: readonly Kind[] = [Service, EndpointSlice, Endpoints]

const placeOf = (group: string, plural: string) => `${group}/${plural}`

export class ClusterInformers implements Disposable {
  readonly #client: DelegationSeams['client']
  readonly #informers: ReadonlyMap<string, Informer>
  #servicesKnown: Promise<void> | undefined

  constructor(seams: DelegationSeams) {
    this.#client = seams.client
    this.#informers = new Map(
      [...always, ...forServices].map((kind) => [placeOf(kind.group, kind.plural), new Informer({ ...seams, kind, freezesObjects: true })]),
    )
  }

  /** Resolves when what is always needed is known. */
  start(): Promise<void> {
    return this.#follow(always)
  }

  /** Resolves when services and what is behind them are known. */
  services(): Promise<void> {
    this.#servicesKnown ??= this.#follow(forServices)
    return this.#servicesKnown
  }

  /** The server's own objects, and those of the cluster that are followed. */
  beside(own: ClusterView): ClusterView {
    const { dynamic } = own
    const informerOf = (group: string, resource: string) => this.#informers.get(placeOf(group, resource))
    return new ClusterView({
      ...dynamic,
      get: (group, resource, namespace, name) => {
        const informer = informerOf(group, resource)
        return informer === undefined ? dynamic.get(group, resource, namespace, name) : informer.get(namespace, name)
      },
      list: (group, resource, namespace) => {
        const informer = informerOf(group, resource)
        return informer === undefined ? dynamic.list(group, resource, namespace) : [...informer.list(namespace)]
      },
      getFresh: async (group, resource, namespace, name) => {
        const informer = informerOf(group, resource)
        if (informer === undefined) return dynamic.getFresh(group, resource, namespace, name)
        return this.#client.get(informer.kind, namespace, name).catch(ignoreNotFound)
      },
      onChange: (group, resource, callback, isGradual) => {
        const informer = informerOf(group, resource)
        if (informer === undefined) return dynamic.onChange(group, resource, callback, isGradual)
        const tell = (object: KubernetesObject) => callback(object, false)
        return informer.addHandler({ onAdd: tell, onUpdate: tell, onDelete: (object) => callback(object, true) })
      },
    })
  }

  [Symbol.dispose](): void {
    for (const informer of this.#informers.values()) informer.stop()
  }

  async #follow(kinds: readonly Kind[]): Promise<void> {
    await Promise.all(
      kinds.map(({ group, plural }) => {
        const informer = this.#informers.get(placeOf(group, plural))
        informer?.start()
        return informer?.synced
      }),
    )
  }
}
