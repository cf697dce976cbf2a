/** Whether a pod may be on a node, as far as labels and taints go. */
import { requiredNodeMatcher } from '#api/core/v1/node/node-selector.ts'
import { untolerated } from '#api/core/v1/node/tolerations.ts'
import type { V1Node, V1PodSpec, V1Taint, V1Toleration } from '#api/core/v1/types.gen.ts'

/** The first taint of these effects that nothing tolerates. */
export function untoleratedTaint(
  taints: readonly V1Taint[] | undefined,
  tolerations: readonly V1Toleration[] | undefined,
  effects: readonly string[],
): V1Taint | undefined {
  return untolerated(taints?.filter(({ effect }) => effects.includes(effect)) ?? [], tolerations)
}

/** The node selector and the affinity that is required. */
export function fitsNodeLabels(spec: V1PodSpec, node: V1Node): boolean {
  return requiredNodeMatcher({ spec })?.(node) ?? true
}
