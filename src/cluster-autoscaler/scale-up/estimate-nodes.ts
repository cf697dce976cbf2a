import { parseQuantity } from '#api/meta/quantity.ts'
import type { PodGroup } from '#cluster-autoscaler/scale-up/pod-groups.ts'
import type { ClusterSnapshot } from '#cluster-autoscaler/snapshot/cluster-snapshot.ts'
import { nodeFromTemplate, type TemplateNode } from '#cluster-autoscaler/snapshot/template-nodes.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'

export type Estimate = { readonly nodeCount: number; readonly pods: readonly PodInfo[] }

/** First fit, the largest pods first: how many nodes of this kind are needed, and which pods they take. */
export async function estimateNodes(
  snapshot: ClusterSnapshot,
  groups: readonly PodGroup[],
  template: TemplateNode,
  maxNodes: number,
): Promise<Estimate> {
  const mark = snapshot.mark()
  try {
    const added: { name: string; podCount: number }[] = []
    const byName = new Map<string, { podCount: number }>()
    const placed: PodInfo[] = []
    const isNew = ({ name }: NodeInfo) => byName.has(name)
    const took = (pod: PodInfo, name: string) => {
      placed.push(pod)
      const node = byName.get(name)
      if (node !== undefined) node.podCount++
    }
    const addNode = (): string => {
      const name = `estimated-node-${added.length}`
      const { node, pods } = nodeFromTemplate(template, name)
      const entry = { name, podCount: 0 }
      added.push(entry)
      byName.set(name, entry)
      snapshot.addNode(node, pods)
      return name
    }
    for (const { pods } of largestFirst(groups, template)) {
      let isOldFull = false
      for (const pod of pods) {
        if (snapshot.isLong) await snapshot.giveWay()
        const last = added.at(-1)
        const found = isOldFull
          ? last !== undefined && snapshot.place(pod, last.name) === undefined
            ? last.name
            : undefined
          : snapshot.placeAnywhere(pod, isNew)
        if (found !== undefined) {
          took(pod, found)
          continue
        }
        // They are all alike: what is full for one is full for the next, unless the pods keep apart from each other.
        isOldFull = pod.terms.requiredAnti.length === 0 && (pod.pod.spec.topologySpreadConstraints ?? []).length === 0
        if (last?.podCount === 0) break
        if (added.length >= maxNodes) break
        const name = addNode()
        if (snapshot.place(pod, name) !== undefined) break
        took(pod, name)
      }
    }
    return { nodeCount: added.filter(({ podCount }) => podCount > 0).length, pods: placed }
  } finally {
    snapshot.undoTo(mark)
  }
}

/** By what share of a node they ask for, processor and memory together. */
function largestFirst(groups: readonly PodGroup[], { node }: TemplateNode): PodGroup[] {
  const share = ({ pods: [pod] }: PodGroup): number => {
    const { cpu = '1', memory = '1' } = node.status?.allocatable ?? {}
    return pod === undefined ? 0 : pod.requests.cpuMillis / millis(cpu) + pod.requests.memory / bytes(memory)
  }
  return groups.toSorted((one, other) => share(other) - share(one))
}

const millis = (text: string): number => parseQuantity(text).milliValue() || 1
const bytes = (text: string): number => parseQuantity(text).value() || 1
