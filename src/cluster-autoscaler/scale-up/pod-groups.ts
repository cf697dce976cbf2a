import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'

/** Pods that differ in name only: where one of them fits, the others do too, as long as there is room. */
export type PodGroup = {
  readonly pods: readonly PodInfo[]
  /** Why each node group is of no use to them. */
  readonly rejections: Map<string, readonly string[]>
  isSchedulable: boolean
}

export function podGroups(pods: readonly PodInfo[]): PodGroup[] {
  const groups = Map.groupBy(pods, ({ uid, pod }) => sameness(pod) ?? uid)
  return [...groups.values()].map((each) => ({ pods: each, rejections: new Map(), isSchedulable: false }))
}

const known = new WeakMap<V1Pod, string>()

/** Equal for pods of one controller whose specs and labels are equal; undefined for pods without one. */
export function sameness(pod: V1Pod): string | undefined {
  const controller = controllerOf(pod)
  if (controller === undefined) return undefined
  const cached = known.get(pod)
  if (cached !== undefined) return cached
  const { volumes, hostname: _, ...spec } = pod.spec
  // The volume of the service account's token has a name of its own in each pod.
  const others = (volumes ?? []).filter(({ projected }) => projected === undefined)
  const containers = spec.containers.map(({ volumeMounts: _mounts, ...container }) => container)
  const { 'apps.kubernetes.io/pod-index': _index, 'statefulset.kubernetes.io/pod-name': _name, ...labels } = pod.metadata.labels ?? {}
  const text = JSON.stringify([controller.uid, pod.metadata.namespace, labels, { ...spec, containers }, others])
  known.set(pod, text)
  return text
}
