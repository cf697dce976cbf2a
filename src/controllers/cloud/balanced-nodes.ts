/** Which nodes a cloud's load balancers lead to. */

import type { V1Node } from '#api/core/v1/types.gen.ts'

const excludedLabel = 'node.kubernetes.io/exclude-from-external-load-balancers'
/** The cluster autoscaler is about to remove the node. */
const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler'

/** The label excludes unless it says false in a way that Go would understand. */
export function isIncluded({ metadata }: V1Node): boolean {
  const value = metadata.labels?.[excludedLabel]
  return value === undefined || /^(?:0|f|F|false|False|FALSE)$/.test(value)
}

/** Readiness does not count: the load balancer's own checks are quicker than we are. */
export const isBalanced = (node: V1Node): boolean =>
  node.metadata.deletionTimestamp === undefined &&
  isIncluded(node) &&
  !(node.spec?.taints ?? []).some(({ key }) => key === toBeDeletedTaint)

/** Equal for sets of nodes that are the same to a load balancer. */
export const balancedSet = (nodes: readonly V1Node[]): string =>
  JSON.stringify(
    nodes.map(({ metadata, spec }) => [metadata.name ?? '', spec?.providerID ?? '']).sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  )

const mostNames = 20

/** As events print them. */
export function loggableNames(nodes: readonly V1Node[]): string {
  const names = nodes
    .slice(0, mostNames)
    .map(({ metadata }) => metadata.name ?? '')
    .sort()
  return `[${[...names, ...(nodes.length > mostNames ? [`<${nodes.length - mostNames} more>`] : [])].join(' ')}]`
}
