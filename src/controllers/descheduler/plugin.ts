/** What a strategy of the descheduler is. */

import type { V1Namespace, V1Node, V1PersistentVolumeClaim, V1Pod } from '#api/core/v1/types.gen.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import { errorMessage } from '#base/error-message.ts'

export type PodFilter = (pod: V1Pod) => boolean

/** The cluster as it was when the round began. */
export type ClusterView = {
  /** Ready, and chosen by the policy's node selector. */
  nodes: readonly V1Node[]
  podsOn(nodeName: string): readonly V1Pod[]
  /** All pods that this object owns. */
  podsOwnedBy(uid: string): readonly V1Pod[]
  namespace(name: string): V1Namespace | undefined
  claim(namespace: string, name: string): V1PersistentVolumeClaim | undefined
  budgets(namespace: string): readonly V1PodDisruptionBudget[]
  nowMs: number
}

/** Why a pod was not evicted; limits of nodes and of all end more than this pod's turn. */
export type EvictionResult = 'evicted' | 'failed' | 'node limit' | 'namespace limit' | 'total limit'

export type PluginHandle = {
  view: ClusterView
  /** Whether the pod may be evicted at all. */
  filter: PodFilter
  /** Whether it should, now that it is its turn: there is somewhere else for it. */
  preEvictionFilter: PodFilter
  evict(pod: V1Pod): Promise<EvictionResult>
  /** What is in use, where the policy has it measured. */
  measurements?(): Promise<Measurements>
}

/** In thousandths of each resource; undefined of what nobody has measured. */
export type Measurements = {
  ofNode(name: string): Readonly<Record<string, number>> | undefined
  ofPod(namespace: string, name: string): Readonly<Record<string, number>> | undefined
}

export type DeschedulerPlugin<Args = never> = {
  name: string
  /** When it runs: those that remove what is wrong come before those that balance. */
  point: 'deschedule' | 'balance'
  /** What is wrong with the arguments, in upstream's words. */
  validate(args: Args): string[]
  run(args: Args, handle: PluginHandle): Promise<void>
}

/** Only adds types. */
export const definePlugin = <Args>(plugin: DeschedulerPlugin<Args>): DeschedulerPlugin<Args> => plugin

export type Namespaces = { include?: readonly string[]; exclude?: readonly string[] }

/** What most plugins have. */
export type SelectingArgs = { namespaces?: Namespaces; labelSelector?: V1LabelSelector }

export function selectionProblems({ namespaces, labelSelector }: SelectingArgs): string[] {
  const problems: string[] = []
  if ((namespaces?.include?.length ?? 0) > 0 && (namespaces?.exclude?.length ?? 0) > 0)
    problems.push('only one of Include/Exclude namespaces can be set')
  try {
    labelSelectorFrom(labelSelector)
  } catch (error) {
    problems.push(`failed to get label selectors from strategy's params: ${errorMessage(error)}`)
  }
  return problems
}

export function selects({ namespaces, labelSelector }: SelectingArgs): PodFilter {
  const [included, excluded] = [new Set(namespaces?.include), new Set(namespaces?.exclude)]
  const selector = labelSelector === undefined ? undefined : labelSelectorFrom(labelSelector)
  return ({ metadata }) => {
    const namespace = metadata.namespace ?? ''
    if (included.size > 0 && !included.has(namespace)) return false
    return !excluded.has(namespace) && (selector?.matches(metadata.labels) ?? true)
  }
}

/** Evicts one after the other; a node that has given enough is left, and all is over when the whole cluster has. */
export async function evictAll(pods: readonly V1Pod[], handle: PluginHandle): Promise<'go on' | 'over'> {
  const full = new Set<string>()
  for (const pod of pods) {
    const node = pod.spec.nodeName ?? ''
    if (full.has(node)) continue
    const result = await handle.evict(pod)
    if (result === 'node limit') full.add(node)
    if (result === 'total limit') return 'over'
  }
  return 'go on'
}
