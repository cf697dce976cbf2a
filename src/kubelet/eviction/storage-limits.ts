/** Pods that have taken more of the node's disk than they may, whatever is left of it. */
import { podLimits } from '#api/core/v1/resources.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { usedOf } from '#kubelet/eviction/rank-pods.ts'
import type { PodUsage } from '#kubelet/stats/usage.ts'

const resource = 'ephemeral-storage'

export const limitsStorage = ({ spec }: V1Pod): boolean => podLimits(spec)[resource] !== undefined

/** Why the pod has to go; undefined where it may stay. */
export function exceededStorage(pod: V1Pod, usage: PodUsage): string | undefined {
  const limit = podLimits(pod.spec)[resource]
  if (limit !== undefined && usedOf(usage, 'nodefs.available') > limit.value()) {
    return `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `
  }
  for (const { name, rootFs, logs } of usage.containers) {
    const own = pod.spec.containers.find((container) => container.name === name)?.resources?.limits?.[resource]
    const used = (rootFs?.usedBytes ?? 0) + (logs?.usedBytes ?? 0)
    if (own !== undefined && used > parseQuantity(own).value())
      return `Container ${name} exceeded its local ephemeral storage limit "${parseQuantity(own)}". `
  }
  return undefined
}
