/** All vertical autoscalers of the cluster, and the pods of each. */
import { PocVerticalPodAutoscaler, VerticalPodAutoscaler } from '#api/autoscaling/vertical/definitions.ts'
import { pocAutoscalerOf, type VerticalAutoscaler, verticalAutoscalerOf } from '#api/autoscaling/vertical/vertical-autoscaler.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseApiVersion } from '#api/meta/gvk.ts'
import { type LabelSelector, labelSelectorFrom, labelSelectorFromMap, parseLabelSelector } from '#api/meta/selector.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Client } from '#client/client.ts'
import { type DiscoveredResource, discover } from '#client/discovery.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

/** `poc` tells the form; the two may have the same name. */
export type FoundAutoscaler = {
  readonly key: string
  readonly isPoc: boolean
  readonly object: VerticalPodAutoscaler | PocVerticalPodAutoscaler
  readonly autoscaler: VerticalAutoscaler
}

export function allAutoscalers(cache: Cache): FoundAutoscaler[] {
  const found = (
    isPoc: boolean,
    object: VerticalPodAutoscaler | PocVerticalPodAutoscaler,
    autoscaler: VerticalAutoscaler,
  ): FoundAutoscaler => ({
    ...{ key: `${isPoc ? 'poc/' : ''}${autoscaler.namespace}/${autoscaler.name}`, isPoc, object, autoscaler },
  })
  return [
    ...cache.list(VerticalPodAutoscaler).map((each) => found(false, each, verticalAutoscalerOf(each))),
    ...cache.list(PocVerticalPodAutoscaler).map((each) => found(true, each, pocAutoscalerOf(each))),
  ]
}

const discoveryMs = 60_000

/** Finds the pods of autoscalers; what the cluster serves is asked again once a minute. */
export class TargetPods {
  readonly #client: Client
  readonly #cache: Cache
  readonly #now: () => number
  #resources: readonly DiscoveredResource[] = []
  #askedMs = Number.NEGATIVE_INFINITY

  constructor({ client, cache, now }: { client: Client; cache: Cache; now(): number }) {
    this.#client = client
    this.#cache = cache
    this.#now = now
  }

  /** Throws where the target cannot be found. */
  async of(autoscaler: VerticalAutoscaler): Promise<V1Pod[]> {
    const selector = await this.#selectorOf(autoscaler)
    return this.#cache.list(Pod, autoscaler.namespace).filter(({ metadata }) => selector.matches(metadata.labels))
  }

  async #selectorOf({ namespace, targetRef, selector }: VerticalAutoscaler): Promise<LabelSelector> {
    if (targetRef === undefined) return labelSelectorFrom(selector)
    if (this.#now() - this.#askedMs > discoveryMs) {
      this.#resources = (await discover(this.#client)).resources
      this.#askedMs = this.#now()
    }
    const wanted = parseApiVersion(targetRef.apiVersion || 'v1')
    const kind = this.#resources.find((each) => each.kind === targetRef.kind && each.group === wanted?.group)
    if (kind === undefined) throw new Error(`cannot find a resource of kind ${targetRef.kind} in ${targetRef.apiVersion || 'v1'}`)
    const target = (await this.#client.get(kind, namespace, targetRef.name)) as Target
    const own = target.spec?.selector
    if (own !== undefined)
      return 'matchLabels' in own || 'matchExpressions' in own
        ? labelSelectorFrom(own)
        : labelSelectorFromMap(own as Record<string, string>)
    const labels = target.spec?.jobTemplate?.spec?.template?.metadata?.labels
    if (labels !== undefined) return labelSelectorFromMap(labels)
    const scale = await this.#client.subresource<{ status?: { selector?: string } }>(
      'GET',
      kind,
      { namespace, name: targetRef.name },
      'scale',
    )
    return parseLabelSelector(scale.status?.selector ?? '')
  }
}

type Target = KubernetesObject & {
  spec?: {
    selector?: V1LabelSelector | Record<string, string>
    jobTemplate?: { spec?: { template?: { metadata?: { labels?: Record<string, string> } } } }
  }
}
