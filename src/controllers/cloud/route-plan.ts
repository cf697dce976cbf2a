/** Which routes a cloud should have, made of nodes and of the routes that it has. */

import type { V1Node, V1NodeAddress } from '#api/core/v1/types.gen.ts'
import { addressText, contains, type IpRange, parseRange } from '#base/ip-range.ts'
import type { CloudRoute } from '#controllers/cloud/cloud-provider.ts'

export type RoutePlan = {
  remove: CloudRoute[]
  create: { node: V1Node; route: Omit<CloudRoute, 'name'> }[]
  /** Nodes that are told whether all their routes are there. */
  told: V1Node[]
}

export function planRoutes(nodes: readonly V1Node[], routes: readonly CloudRoute[], clusterRanges: readonly IpRange[]): RoutePlan {
  const byNode = Map.groupBy(routes, ({ targetNode }) => targetNode)
  const kept = new Set<CloudRoute>()
  const plan: RoutePlan = { remove: [], create: [], told: [] }
  for (const node of nodes) {
    const name = node.metadata.name ?? ''
    const cidrs = node.spec?.podCIDRs ?? []
    const own = byNode.get(name) ?? []
    if (cidrs.length > 0 || own.length > 0) plan.told.push(node)
    for (const destinationCidr of cidrs) {
      const present = own.filter((route) => route.destinationCidr === destinationCidr)
      const [first] = present
      if (first !== undefined && leadsTo(first, node)) for (const route of present) kept.add(route)
      else plan.create.push({ node, route: { targetNode: name, targetNodeAddresses: node.status?.addresses ?? [], destinationCidr } })
    }
  }
  plan.remove = routes.filter((route) => isOurs(route, clusterRanges) && (route.isBlackhole || !kept.has(route)))
  return plan
}

/** A cloud that does not know where its routes lead is believed. */
function leadsTo({ targetNodeAddresses }: CloudRoute, { status }: V1Node): boolean {
  if (targetNodeAddresses === undefined) return true
  const textOf = (addresses: readonly V1NodeAddress[]) =>
    addresses
      .map(({ type, address }) => `${type}=${address}`)
      .sort()
      .join()
  return textOf(targetNodeAddresses) === textOf(status?.addresses ?? [])
}

/** Routes of other networks are none of our business. */
function isOurs({ destinationCidr }: CloudRoute, clusterRanges: readonly IpRange[]): boolean {
  try {
    const range = parseRange(destinationCidr)
    const last = addressText(range.first + range.size - 1n, range.family)
    const first = addressText(range.first, range.family)
    return clusterRanges.some((cluster) => contains(cluster, first) || contains(cluster, last))
  } catch {
    return false
  }
}
