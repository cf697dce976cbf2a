import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import { isExternallyAccessible, type ServicePort } from '#proxy/service-table/service-port.ts'

/** The node that the proxy works on. */
export type ProxyNode = { name: string; zone: string }

export type EndpointChoice = {
  /** For traffic that may go to any node. */
  cluster: readonly Endpoint[]
  /** For traffic that must stay on this node. */
  local: readonly Endpoint[]
  /** Whether any node has one that can be used. */
  hasAny: boolean
  /** By which hints those of the cluster were narrowed down. */
  topology: 'none' | 'PreferSameZone' | 'PreferSameNode'
}

/** Ready endpoints where there are any, else those that end but still answer; hints count only where all ready endpoints have them. */
export function chooseEndpoints(all: readonly Endpoint[], port: ServicePort, node: ProxyNode): EndpointChoice {
  const isOpen = isExternallyAccessible(port)
  // What comes from inside to an outside address goes anywhere, whatever the policy for those outside.
  const usesCluster = !port.isInternalLocal || isOpen
  const usesLocal = port.isInternalLocal || (port.isExternalLocal && isOpen)
  const isLocal = ({ nodeName }: Endpoint): boolean => nodeName !== undefined && nodeName === node.name
  const topology = usesCluster ? topologyOf(all, node) : 'none'
  const isNear = (endpoint: Endpoint): boolean =>
    topology === 'none' || (topology === 'PreferSameNode' ? endpoint.nodeHints.includes(node.name) : endpoint.zoneHints.includes(node.zone))
  const cluster = usesCluster ? readyElseTerminating(all, isNear) : []
  const local = usesLocal ? readyElseTerminating(all.filter(isLocal)) : []
  const hasAny = cluster.length > 0 || (usesLocal && all.some(isUsable))
  return { cluster, local, hasAny, topology }
}

const answersWhileTerminating = ({ isServing, isTerminating }: Endpoint): boolean => isServing && isTerminating
const isUsable = (endpoint: Endpoint): boolean => endpoint.isReady || answersWhileTerminating(endpoint)

function readyElseTerminating(all: readonly Endpoint[], isNear: (endpoint: Endpoint) => boolean = () => true): readonly Endpoint[] {
  const ready = all.filter((endpoint) => endpoint.isReady && isNear(endpoint))
  return ready.length > 0 ? ready : all.filter(answersWhileTerminating)
}

function topologyOf(all: readonly Endpoint[], { name, zone }: ProxyNode): EndpointChoice['topology'] {
  const ready = all.filter(({ isReady }) => isReady)
  if (ready.length === 0) return 'none'
  if (ready.every(({ nodeHints }) => nodeHints.length > 0) && ready.some(({ nodeHints }) => nodeHints.includes(name)))
    return 'PreferSameNode'
  const haveZones = ready.every(({ zoneHints }) => zoneHints.length > 0)
  return haveZones && ready.some(({ zoneHints }) => zoneHints.includes(zone)) ? 'PreferSameZone' : 'none'
}
