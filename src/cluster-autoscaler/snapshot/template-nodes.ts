import type { V1DaemonSet } from '#api/apps/v1/types.gen.ts'
import { fitsNodeLabels, untoleratedTaint } from '#api/core/v1/node/node-fit.ts'
import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import type { V1Node, V1Pod, V1Toleration } from '#api/core/v1/types.gen.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import type { NodeGroup } from '#cluster-autoscaler/provider/node-group.ts'
import type { ClusterSnapshot } from '#cluster-autoscaler/snapshot/cluster-snapshot.ts'
import { isDaemonSetPod, isMirrorPod } from '#cluster-autoscaler/snapshot/pod-kinds.ts'
import { hasTaint, lastingTaints, toBeDeletedTaint } from '#cluster-autoscaler/snapshot/taints.ts'
import { type PodInfo, podInfoOf } from '#scheduler/cache/pod-info.ts'

/** A node of a group as it would be when new, and the pods that every node of the group has. */
export type TemplateNode = { readonly node: V1Node; readonly pods: readonly PodInfo[] }

export type TemplateSources = {
  snapshot: ClusterSnapshot
  daemonSets: readonly V1DaemonSet[]
  options: Pick<AutoscalerOptions, 'startupTaints' | 'statusTaints'>
}

const hostnameLabel = 'kubernetes.io/hostname'

/** What new nodes look like, learnt from nodes that are there, and from the provider where there is none. */
export class TemplateNodes {
  /** Of groups that had a node once. */
  readonly #known = new Map<string, TemplateNode>()

  async of(group: NodeGroup, members: readonly V1Node[], sources: TemplateSources): Promise<TemplateNode | undefined> {
    const example = members.find((node) => isNodeReady(node) && !hasTaint(node, toBeDeletedTaint) && node.spec?.unschedulable !== true)
    if (example !== undefined) {
      const learnt = learntFrom(example, sources)
      this.#known.set(group.id, learnt)
      return learnt
    }
    const known = this.#known.get(group.id)
    if (known !== undefined) return known
    const node = await group.template()
    return node === undefined ? undefined : expected(node, sources)
  }
}

function learntFrom(example: V1Node, { snapshot, options, daemonSets }: TemplateSources): TemplateNode {
  const taints = lastingTaints(example.spec?.taints ?? [], options)
  const { taints: _, unschedulable: __, ...spec } = example.spec ?? {}
  const node = { ...example, spec: taints.length === 0 ? spec : { ...spec, taints } }
  const present = (snapshot.node(example.metadata.name ?? '')?.pods ?? []).filter(({ pod }) => isDaemonSetPod(pod) || isMirrorPod(pod))
  // A daemon set whose pod has not come yet takes its room all the same.
  const owners = new Set(present.flatMap(({ pod }) => (pod.metadata.ownerReferences ?? []).map(({ uid }) => uid)))
  const missing = daemonPods(
    node,
    daemonSets.filter(({ metadata }) => !owners.has(metadata?.uid ?? '')),
  )
  return { node, pods: [...present.filter(({ isTerminating }) => !isTerminating), ...missing] }
}

function expected(given: V1Node, { options, daemonSets }: TemplateSources): TemplateNode {
  const taints = lastingTaints(given.spec?.taints ?? [], options)
  const node = { ...given, spec: { ...given.spec, taints } }
  return { node, pods: daemonPods(node, daemonSets) }
}

/** Labels and taints decide, as for the daemon sets' controller; room does not. */
function daemonPods(node: V1Node, daemonSets: readonly V1DaemonSet[]): PodInfo[] {
  return daemonSets.flatMap((daemonSet) => {
    const pod = daemonPod(daemonSet)
    if (pod === undefined || !fitsNodeLabels(pod.spec, node)) return []
    return untoleratedTaint(node.spec?.taints, pod.spec.tolerations, ['NoSchedule', 'NoExecute']) === undefined ? [podInfoOf(pod)] : []
  })
}

const tolerated = (key: string, effect: string): V1Toleration => ({ key, operator: 'Exists', effect })
const daemonTolerations = [
  tolerated('node.kubernetes.io/not-ready', 'NoExecute'),
  tolerated('node.kubernetes.io/unreachable', 'NoExecute'),
  tolerated('node.kubernetes.io/disk-pressure', 'NoSchedule'),
  tolerated('node.kubernetes.io/memory-pressure', 'NoSchedule'),
  tolerated('node.kubernetes.io/pid-pressure', 'NoSchedule'),
  tolerated('node.kubernetes.io/unschedulable', 'NoSchedule'),
]

function daemonPod({ metadata, spec }: V1DaemonSet): V1Pod | undefined {
  const template = spec?.template
  if (template?.spec === undefined) return undefined
  const { name = '', namespace = '', uid = '' } = metadata ?? {}
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid, controller: true }
  return {
    metadata: { ...template.metadata, name: `${name}-pod`, namespace, uid: `daemon-${uid}`, ownerReferences: [owner] },
    spec: { ...template.spec, tolerations: [...(template.spec.tolerations ?? []), ...daemonTolerations] },
  }
}

/** A copy under its own name, with its own copies of the pods. */
export function nodeFromTemplate({ node, pods }: TemplateNode, name: string): { node: V1Node; pods: PodInfo[] } {
  const { labels } = node.metadata
  return {
    node: { ...node, metadata: { ...node.metadata, name, uid: name, labels: { ...labels, [hostnameLabel]: name } } },
    pods: pods.map((info) => {
      const { nodeName: _, ...spec } = info.pod.spec
      const metadata = { ...info.pod.metadata, name: `${info.name}-${name}`, uid: `${info.uid}-${name}` }
      return podInfoOf({ ...info.pod, metadata, spec })
    }),
  }
}
