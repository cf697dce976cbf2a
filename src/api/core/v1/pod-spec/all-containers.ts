/** Every container of a pod spec, whatever its list, in the order rules walk them. */
import type { V1Container, V1EphemeralContainer, V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'

export type AnyContainer = V1Container | V1EphemeralContainer

export const containerLists = ['initContainers', 'containers', 'ephemeralContainers'] as const

/** `list` is the name of the container's list, `index` its place there. */
export function eachContainer(
  spec: V1PodSpec,
  visit: (container: AnyContainer, list: (typeof containerLists)[number], index: number) => void,
): void {
  for (const list of containerLists) {
    const containers: readonly AnyContainer[] | undefined = spec[list]
    if (containers === undefined) continue
    for (let index = 0; index < containers.length; index++) visit(containers[index] as AnyContainer, list, index)
  }
}

export function someContainer(spec: V1PodSpec | undefined, holds: (container: AnyContainer) => boolean): boolean {
  if (spec === undefined) return false
  for (const list of containerLists) {
    const containers: readonly AnyContainer[] | undefined = spec[list]
    if (containers?.some(holds)) return true
  }
  return false
}

/** `list` may be any of the three; what is read of it is what all containers have. */
export function checkAtContainer(check: Check<V1PodSpec>, list: (typeof containerLists)[number], index: number): Check<AnyContainer> {
  return check.at(list).at(index) as Check<AnyContainer>
}

/** A sidecar: an init container that keeps running. */
export const isSidecar = (container: Pick<V1Container, 'restartPolicy'>): boolean => container.restartPolicy === 'Always'

export const sidecarsOf = ({ initContainers = [] }: Pick<V1PodSpec, 'initContainers'>): V1Container[] => initContainers.filter(isSidecar)

/** Those that run for as long as the pod does. */
export const lastingContainers = (spec: V1PodSpec): V1Container[] => [...spec.containers, ...sidecarsOf(spec)]
