import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1ContainerStatus, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { compareQuantities } from '#api/meta/quantity.ts'

type ResourceList = { [name: string]: string }

/**
 * The spec with what the containers have, or were promised, where that is more: while a pod is being resized both the old and
 * the new amount must be there.
 */
export function effectivePodSpec(pod: V1Pod): V1PodSpec {
  const { spec, status } = pod
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]
  if (!statuses.some(({ resources }) => resources !== undefined)) return spec
  const isInfeasible = findCondition(status?.conditions, 'PodResizePending')?.reason === 'Infeasible'
  const effective = (container: V1Container): V1Container => {
    const found = statuses.find(({ name }) => name === container.name)
    return found?.resources === undefined ? container : withStatus(container, found, isInfeasible)
  }
  return {
    ...spec,
    containers: (spec.containers ?? []).map(effective),
    ...(spec.initContainers ? { initContainers: spec.initContainers.map((each) => (isSidecar(each) ? effective(each) : each)) } : {}),
  }
}

/** What cannot be had on the node is not counted. */
function withStatus(container: V1Container, { resources, allocatedResources }: V1ContainerStatus, isInfeasible: boolean): V1Container {
  const wanted = isInfeasible ? undefined : container.resources
  return {
    ...container,
    resources: {
      ...container.resources,
      requests: largest(wanted?.requests, resources?.requests, allocatedResources),
      limits: largest(wanted?.limits, resources?.limits),
    },
  }
}

function largest(...lists: (ResourceList | undefined)[]): ResourceList {
  const result: ResourceList = {}
  for (const list of lists) {
    for (const [name, text] of Object.entries(list ?? {})) {
      const before = result[name]
      if (before === undefined || compareQuantities(text, before) > 0) result[name] = text
    }
  }
  return result
}
