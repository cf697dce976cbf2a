import { createHash } from 'node:crypto'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'

const excludedLabel = 'node.kubernetes.io/exclude-from-external-load-balancers'

/** Nodes that traffic from outside may be led to. */
export function mayAnswer({ metadata, status }: V1Node): boolean {
  if (metadata.labels?.[excludedLabel] !== undefined || metadata.deletionTimestamp !== undefined) return false
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false
}

/**
 * Which node answers for the addresses of a service: the one that does, as long as it can, so that nothing moves without need; else another, so that
 * services spread over nodes. With `isLocal` only nodes with a ready endpoint can, since they pass nothing on.
 */
export function chooseNode(
  service: string,
  current: string | undefined,
  nodes: readonly V1Node[],
  { isLocal, slices }: { isLocal: boolean; slices: readonly V1EndpointSlice[] },
): string | undefined {
  const withEndpoint = new Set(
    slices.flatMap(({ endpoints }) =>
      (endpoints ?? []).filter(({ conditions }) => conditions?.ready ?? true).flatMap(({ nodeName }) => nodeName ?? []),
    ),
  )
  const able = nodes.filter(mayAnswer).flatMap(({ metadata: { name = '' } }) => (isLocal && !withEndpoint.has(name) ? [] : [name]))
  if (current !== undefined && able.includes(current)) return current
  const rank = (node: string) => createHash('sha256').update(`${service} ${node}`).digest('hex')
  return able.map((node) => ({ node, rank: rank(node) })).sort((one, other) => (one.rank < other.rank ? -1 : 1))[0]?.node
}
