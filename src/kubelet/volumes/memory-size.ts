import { lastingContainers } from '#api/core/v1/pod-spec/all-containers.ts'
import { podLimits } from '#api/core/v1/resources.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { smallest } from '#base/append.ts'

/** How much of the node's memory may go into a volume: what it asks for, or what the pod or the node has where that is less. */
export function memorySizeBytes(
  pod: V1Pod,
  sizeLimit: string | undefined,
  allocatable: { [resource: string]: string },
): number | undefined {
  const limits = [sizeLimit, allocatable['memory']].map((text) => (text === undefined ? 0 : parseQuantity(String(text)).value()))
  const sizes = [...limits, podMemoryBytes(pod)].filter((bytes) => bytes > 0)
  return sizes.length === 0 ? undefined : smallest(Number.POSITIVE_INFINITY, sizes)
}

/** Nothing where a container may take as much as it likes. */
function podMemoryBytes({ spec }: V1Pod): number {
  const isLimited =
    spec.resources?.limits?.['memory'] !== undefined || lastingContainers(spec).every(({ resources }) => resources?.limits?.['memory'])
  return isLimited ? (podLimits(spec)['memory']?.value() ?? 0) : 0
}
