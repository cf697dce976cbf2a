import type { V1Pod } from '#api/core/v1/types.gen.ts'

/** The pod of a name, out of all in the order in which they came. One that was deleted may still be ending while the next of its name runs: that one is meant. */
export function podNamed(pods: readonly V1Pod[], namespace: string, name: string): V1Pod | undefined {
  return pods.findLast(({ metadata }) => metadata.name === name && metadata.namespace === namespace)
}
