import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { ResourceList } from '#api/core/v1/quantities.ts'
import type { V1Container, V1Pod, V1PodSpec, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { compareQuantities } from '#api/meta/quantity.ts'

type Granted = { resources?: V1ResourceRequirements; allocatedResources?: ResourceList }

/**
 * The spec with the larger of what is asked for, what the node has allocated and what is in effect: while a pod is being
 * resized, both the old and the new amount must be there. What is asked for does not count where the node can never give it.
 */
export function effectivePodSpec(pod: V1Pod): V1PodSpec {
  const { spec, status } = pod
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]
  if (!status?.resources && !statuses.some(({ resources }) => resources)) return spec
  const isInfeasible = findCondition(status?.conditions, 'PodResizePending')?.reason === 'Infeasible'
  const effective = (asked: V1ResourceRequirements | undefined, { resources, allocatedResources }: Granted) => {
    const wanted = isInfeasible ? undefined : asked
    return {
      ...asked,
      requests: largest([wanted?.requests, resources?.requests, allocatedResources]),
      limits: largest([wanted?.limits, resources?.limits]),
    }
  }
  const resized = (container: V1Container): V1Container => {
    const found = statuses.find(({ name }) => name === container.name)
    return found?.resources ? { ...container, resources: effective(container.resources, found) } : container
  }
  const now: V1PodSpec = { ...spec, containers: (spec.containers ?? []).map(resized) }
  if (spec.initContainers) now.initContainers = spec.initContainers.map((each) => (isSidecar(each) ? resized(each) : each))
  if (spec.resources && status?.resources) now.resources = effective(spec.resources, status)
  return now
}

function largest(lists: readonly (ResourceList | undefined)[]): ResourceList {
  const result: ResourceList = {}
  for (const list of lists) {
    for (const [name, quantity] of Object.entries(list ?? {})) {
      const known = result[name]
      if (known === undefined || compareQuantities(quantity, known) > 0) result[name] = quantity
    }
  }
  return result
}
