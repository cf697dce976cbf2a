import type { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'
import { on } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unschedulable } from '#scheduler/framework/status.ts'

type Labels = Readonly<Record<string, string>>
type State = { readonly asked: Labels; readonly mates: readonly PodInfo[] }

const elsewhere = unschedulable("node(s) didn't match service affinity")

/** Keeps the pods of a service on nodes that have these labels in common; only policies of old ask for it. */
export function serviceAffinity(
  { affinityLabels = [] }: { affinityLabels?: readonly string[] },
  { cache, objects }: { cache: ClusterCache; objects: ClusterObjects },
) {
  return defineSchedulerPlugin<State>({
    name: 'ServiceAffinity',
    retryOn: [on.pod.deleted, on.pod.added, on.node.added, on.node.labelsChanged],

    preFilter(info) {
      if (affinityLabels.length === 0) return 'skip'
      const asked = picked(info.pod.spec.nodeSelector ?? {})
      const isServed = [...objects.of('Service').values()].some(
        ({ metadata, spec }) => metadata?.namespace === info.namespace && spec?.selector && isPartOf(spec.selector, labelsOf(info)),
      )
      return { state: { asked, mates: isServed ? matesOf(info) : [] } }
    },

    // Where the node selector leaves a label open, the first of the others decides.
    filter(_, node, { asked, mates }) {
      const first = mates.find(({ pod }) => pod.spec.nodeName !== node.name) ?? mates[0]
      const theirs = cache.node(first?.pod.spec.nodeName ?? '')?.labels ?? {}
      return isPartOf({ ...picked(theirs), ...asked }, node.labels) ? fits : elsewhere
    },
  })

  function matesOf(info: PodInfo): PodInfo[] {
    const labels = labelsOf(info)
    return cache.nodes.flatMap(({ pods }) =>
      [...pods].filter((other) => other.namespace === info.namespace && isPartOf(labels, labelsOf(other))),
    )
  }

  function picked(labels: Labels): Labels {
    return Object.fromEntries(affinityLabels.flatMap((key) => (labels[key] === undefined ? [] : [[key, labels[key]]])))
  }
}

const labelsOf = ({ pod }: PodInfo): Labels => pod.metadata.labels ?? {}
const isPartOf = (part: Labels, whole: Labels): boolean => Object.entries(part).every(([key, value]) => whole[key] === value)
