/** What of the resources a pod asks for the node has allocated to it: all at its start, later changes when there is room. */

import type { V1Container, V1ContainerStatus, V1Pod, V1PodStatus, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { defined } from '#base/defined.ts'
import { haveSameResources } from '#kubelet/pod-worker/resizes.ts'

/** The pod with the resources that `allocated` has; the pod itself where these are the same. */
export function withResourcesOf(pod: V1Pod, allocated: V1Pod): V1Pod {
  if (pod.spec === allocated.spec) return pod
  const before = new Map(containersOf(allocated).map(({ name, resources }) => [name, resources]))
  return withResources(pod, allocated.spec.resources, ({ name, resources }) => (before.has(name) ? before.get(name) : resources))
}

/** What an agent before this one had allocated, as far as the pod's status tells. */
export function allocatedBefore(pod: V1Pod): V1Pod {
  const { status, metadata } = pod
  const isSettled =
    status?.observedGeneration === metadata.generation && findCondition(status?.conditions, 'PodResizePending') === undefined
  if (isSettled) return pod
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]
  const ofPod = pod.spec.resources && status?.allocatedResources ? podResourcesIn(status) : pod.spec.resources
  return withResources(pod, ofPod, ({ name, resources }) => {
    const reported = statuses.find((each) => each.name === name && each.containerID)
    // Agents of old told nothing of resources.
    return reported === undefined || (!reported.allocatedResources && !reported.resources) ? resources : resourcesIn(reported)
  })
}

function resourcesIn({ allocatedResources, resources }: V1ContainerStatus): V1ResourceRequirements | undefined {
  if (!allocatedResources && !resources?.limits) return resources
  return {
    ...defined({ requests: allocatedResources, limits: resources?.limits }),
  }
}

/** A pod that has resources of its own may have gained or lost nothing of what it named. */
const podResourcesIn = ({ allocatedResources, resources }: V1PodStatus): V1ResourceRequirements =>
  defined({ requests: allocatedResources, limits: resources?.limits })

function withResources(
  pod: V1Pod,
  ofPod: V1ResourceRequirements | undefined,
  of: (container: V1Container) => V1ResourceRequirements | undefined,
): V1Pod {
  const changed = (container: V1Container): V1Container => {
    const resources = of(container)
    if (haveSameResources(resources, container.resources)) return container
    const { resources: _, ...rest } = container
    return resources === undefined ? rest : { ...rest, resources }
  }
  const containers = pod.spec.containers.map(changed)
  const initContainers = pod.spec.initContainers?.map(changed)
  const isSame =
    containers.every((container, index) => container === pod.spec.containers[index]) &&
    (initContainers ?? []).every((container, index) => container === pod.spec.initContainers?.[index]) &&
    haveSameResources(ofPod, pod.spec.resources)
  if (isSame) return pod
  const { resources, ...spec } = pod.spec
  const kept = haveSameResources(ofPod, resources) ? resources : ofPod
  return { ...pod, spec: { ...spec, containers, ...defined({ initContainers, resources: kept }) } }
}

const containersOf = ({ spec }: V1Pod): V1Container[] => [...spec.containers, ...(spec.initContainers ?? [])]
