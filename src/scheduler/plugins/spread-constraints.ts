/** Topology spread constraints, made ready to count with. */

import { untolerated } from '#api/core/v1/node/tolerations.ts'
import type { V1Pod, V1TopologySpreadConstraint } from '#api/core/v1/types.gen.ts'
import type { LabelRequirement } from '#api/meta/label-requirement.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import {
  cachedSelector,
  cachedSelectorFromMap,
  LabelSelector,
  labelSelectorFrom,
  labelSelectorFromMap,
  nothing,
} from '#api/meta/selector.ts'
import { append } from '#base/append.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'

export type SpreadConstraint = {
  readonly key: string
  readonly maxSkew: number
  readonly minDomains: number
  readonly selector: LabelSelector
  readonly honorsAffinity: boolean
  readonly honorsTaints: boolean
}

export const hostname = 'kubernetes.io/hostname'

/** What is wanted of a pod that wants nothing itself, unless the configuration says otherwise. */
export const systemDefaults: readonly V1TopologySpreadConstraint[] = [
  { topologyKey: hostname, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 3 },
  { topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 5 },
]

export function constraintsOf(
  { metadata, spec }: V1Pod,
  action: 'DoNotSchedule' | 'ScheduleAnyway',
  list: readonly V1TopologySpreadConstraint[] = spec.topologySpreadConstraints ?? [],
): SpreadConstraint[] {
  const constraints: SpreadConstraint[] = []
  for (const constraint of list) {
    if (constraint.whenUnsatisfiable !== action) continue
    constraints.push({
      key: constraint.topologyKey,
      maxSkew: constraint.maxSkew,
      minDomains: constraint.minDomains ?? 1,
      selector: withLabelKeys(labelSelectorFrom(constraint.labelSelector), constraint.matchLabelKeys, metadata.labels),
      honorsAffinity: constraint.nodeAffinityPolicy !== 'Ignore',
      honorsTaints: constraint.nodeTaintsPolicy === 'Honor',
    })
  }
  return constraints
}

/** Only pods that have the same values as this one count. */
function withLabelKeys(
  selector: LabelSelector,
  keys: readonly string[] | undefined,
  labels: Record<string, string> | undefined,
): LabelSelector {
  const requirements: LabelRequirement[] = []
  for (const key of keys ?? []) {
    const value = labels?.[key]
    if (value !== undefined) requirements.push({ key, operator: '=', values: [value] })
  }
  if (requirements.length === 0 || selector === nothing) return selector
  return new LabelSelector([...requirements, ...selector.requirements])
}

/** The pods that belong together with this one, by its services and its controller; undefined when it belongs to none. */
export function selectorOfOwners(pod: V1Pod, objects: ClusterObjects): LabelSelector | undefined {
  const { metadata } = pod
  const namespace = metadata.namespace ?? ''
  const merged: Record<string, string> = {}
  for (const { metadata: of, spec } of objects.of('Service').values()) {
    if (of.namespace !== namespace || !spec?.selector || Object.keys(spec.selector).length === 0) continue
    if (cachedSelectorFromMap(spec.selector).matches(metadata.labels)) Object.assign(merged, spec.selector)
  }
  const owner = controllerOf(pod)
  const requirements: LabelRequirement[] = []
  if (owner?.kind === 'ReplicationController' && owner.apiVersion === 'v1') {
    Object.assign(merged, objects.of('ReplicationController').get(namespace, owner.name)?.spec?.selector)
  } else if ((owner?.kind === 'ReplicaSet' || owner?.kind === 'StatefulSet') && owner.apiVersion === 'apps/v1') {
    const set =
      owner.kind === 'ReplicaSet'
        ? objects.of('ReplicaSet').get(namespace, owner.name)
        : objects.of('StatefulSet').get(namespace, owner.name)
    if (set?.spec?.selector) append(requirements, cachedSelector(set.spec.selector).requirements)
  }
  append(requirements, labelSelectorFromMap(merged).requirements)
  return requirements.length === 0 ? undefined : new LabelSelector(requirements)
}

/** Whether what runs on the node counts for the constraint at all. */
export function isCounted(constraint: SpreadConstraint, pod: PodInfo, node: NodeInfo): boolean {
  if (constraint.honorsAffinity && pod.requiredNode !== undefined && !pod.requiredNode(node.node)) return false
  return !constraint.honorsTaints || untolerated(node.hardTaints, pod.pod.spec.tolerations) === undefined
}

/** Whether no node is left out of the count on account of the pod. */
export const seesAllNodes = (pod: PodInfo, { honorsTaints, honorsAffinity }: SpreadConstraint): boolean =>
  !honorsTaints && (!honorsAffinity || pod.requiredNode === undefined)

export function hasAllKeys({ labels }: Pick<NodeInfo, 'labels'>, constraints: readonly SpreadConstraint[]): boolean {
  for (const { key } of constraints) if (labels[key] === undefined) return false
  return true
}
