import type { V1ContainerStatus, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'

/**
 * Whether a pod that is being started has come no further than its sandbox, or a container that does not run yet, since `before` was
 * told. Nobody is told of that, as upstream has it: its kubelet brings up sandbox and containers between one status and the next.
 */
export function isMidway(before: V1PodStatus | undefined, now: V1PodStatus): boolean {
  return before?.phase === 'Pending' && now.phase === 'Pending' && equalJson(lasting(before), lasting(now))
}

function lasting({ podIP: _ip, podIPs: _ips, conditions = [], containerStatuses, initContainerStatuses, ...rest }: V1PodStatus): object {
  return {
    ...rest,
    conditions: conditions.filter(({ type }) => type !== 'PodReadyToStartContainers'),
    containers: containerStatuses?.map(lastingContainer),
    initContainers: initContainerStatuses?.map(lastingContainer),
  }
}

function lastingContainer({
  containerID: _id,
  image: _image,
  imageID: _imageId,
  resources: _resources,
  ...rest
}: V1ContainerStatus): object {
  return rest
}
