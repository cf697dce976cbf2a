import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'

/** Region and zone, or '' for a node that tells neither. */
export function zoneOf({ metadata }: V1Node): string {
  const labels = metadata.labels ?? {}
  const region = labels['topology.kubernetes.io/region'] ?? labels['failure-domain.beta.kubernetes.io/region'] ?? ''
  const zone = labels['topology.kubernetes.io/zone'] ?? labels['failure-domain.beta.kubernetes.io/zone'] ?? ''
  return region === '' && zone === '' ? '' : `${region}:\u0000:${zone}`
}

/** The nodes with zones taken in turn: a search that stops early has looked into all of them. */
export function interleavedByZone(nodes: Iterable<NodeInfo>): NodeInfo[] {
  const zones = new Map<string, NodeInfo[]>()
  let count = 0
  for (const node of nodes) {
    const zone = zoneOf(node.node)
    const members = zones.get(zone)
    if (members === undefined) zones.set(zone, [node])
    else members.push(node)
    count++
  }
  const ordered: NodeInfo[] = []
  for (let index = 0; ordered.length < count; index++) {
    for (const members of zones.values()) {
      const node = members[index]
      if (node !== undefined) ordered.push(node)
    }
  }
  return ordered
}
