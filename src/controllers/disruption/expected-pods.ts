/** How many pods a budget is about, and how many of them must stay. */
import { Deployment, ReplicaSet, StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import { ReplicationController } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { scaledValue } from '#api/meta/int-or-string.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import type { V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

export type Expected = { count: number; desiredHealthy: number; unmanaged: string[] }

export function expectedPods({ spec }: V1PodDisruptionBudget, pods: readonly V1Pod[], cache: Cache): Expected {
  if (spec?.maxUnavailable !== undefined) {
    const { count, unmanaged } = expectedScale(pods, cache)
    return { count, desiredHealthy: Math.max(0, count - scaledValue(spec.maxUnavailable, count, 'up')), unmanaged }
  }
  const minAvailable = spec?.minAvailable ?? 1
  if (typeof minAvailable === 'number') return { count: pods.length, desiredHealthy: minAvailable, unmanaged: [] }
  const { count, unmanaged } = expectedScale(pods, cache)
  return { count, desiredHealthy: scaledValue(minAvailable, count, 'up'), unmanaged }
}

/** The sizes of all that control these pods, each once. */
function expectedScale(pods: readonly V1Pod[], cache: Cache): { count: number; unmanaged: string[] } {
  const sizes = new Map<string, number>()
  const unmanaged: string[] = []
  for (const pod of pods) {
    const reference = controllerOf(pod)
    if (reference === undefined) {
      unmanaged.push(pod.metadata.name ?? '')
      continue
    }
    const scale = scaleOf(pod, cache)
    if (scale === undefined) throw new Error(`found no scalable controller of kind ${reference.kind} for pod "${pod.metadata.name}"`)
    sizes.set(scale.uid, scale.size)
  }
  return { count: [...sizes.values()].reduce((sum, size) => sum + size, 0), unmanaged }
}

function scaleOf(pod: V1Pod, cache: Cache): { uid: string; size: number } | undefined {
  const { namespace = '' } = pod.metadata
  const { kind, name = '', uid } = controllerOf(pod) ?? {}
  if (kind === 'ReplicaSet') {
    const set = cache.get(ReplicaSet, namespace, name)
    const owner = set && controllerOf(set)
    const deployment = owner?.kind === 'Deployment' ? cache.get(Deployment, namespace, owner.name) : undefined
    if (deployment !== undefined && deployment.metadata.uid === owner?.uid)
      return { uid: owner?.uid ?? '', size: deployment.spec?.replicas ?? 1 }
    return set && set.metadata.uid === uid ? { uid: uid ?? '', size: set.spec?.replicas ?? 1 } : undefined
  }
  const found =
    kind === 'StatefulSet'
      ? cache.get(StatefulSet, namespace, name)
      : kind === 'ReplicationController'
        ? cache.get(ReplicationController, namespace, name)
        : undefined
  return found !== undefined && found.metadata.uid === uid ? { uid: uid ?? '', size: found.spec?.replicas ?? 1 } : undefined
}
