import { lastingContainers } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { milliValueOf } from '#api/meta/quantity.ts'

/** What each pod requests of a resource, in thousandths: all of it, or one of its containers. */
export function podRequests(pods: readonly V1Pod[], resource: string, container: string): Map<string, number> {
  return new Map(pods.map((pod) => [pod.metadata.name ?? '', requestOf(pod, resource, container)]))
}

function requestOf({ metadata, spec }: V1Pod, resource: string, container: string): number {
  const whole = spec.resources?.requests
  if (container === '' && whole !== undefined && Object.keys(whole).length > 0) {
    const request = whole[resource]
    if (request === undefined) throw new Error(`missing pod-level request for ${resource} in Pod ${metadata.name}`)
    return milliValueOf(request)
  }
  const containers = lastingContainers(spec).filter(({ name }) => container === '' || name === container)
  if (container !== '' && containers.length === 0) throw new Error(`container ${container} not found in Pod ${metadata.name}`)
  return containers.reduce((sum, { name, resources }) => {
    const request = resources?.requests?.[resource]
    if (request === undefined) throw new Error(`missing request for ${resource} in container ${name} of Pod ${metadata.name}`)
    return sum + milliValueOf(request)
  }, 0)
}
