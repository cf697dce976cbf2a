import type { Steps } from '#base/steps.ts'
import { hostPort } from '#proxy/service-table/endpoint.ts'
import type { IpFamily } from '#proxy/service-table/service-port.ts'
import type { ServiceTable } from '#proxy/service-table/service-table.ts'

/** A conversation in datagrams that the kernel remembers. */
export type Flow = {
  source: string
  sourcePort: number
  destination: string
  destinationPort: number
  /** Who answers. */
  replySource: string
  replySourcePort: number
}

export const flowsInStep = 500

/**
 * Conversations with services whose endpoint serves no more: the kernel would send them there for as long as the client speaks.
 * Policies and hints do not matter here: what was begun is not moved while its endpoint serves.
 */
export function* staleFlows(flows: Iterable<Flow>, table: ServiceTable, family: IpFamily): Steps<Flow[]> {
  const byAddress = new Map<string, Set<string>>()
  const byNodePort = new Map<number, Set<string>>()
  for (const plan of table.allPlans()) {
    const { port } = plan
    if (port.protocol !== 'UDP' || port.family !== family) continue
    const serving = new Set(
      table
        .endpointsOf(plan)
        .filter(({ isServing }) => isServing)
        .map(({ text }) => text),
    )
    for (const address of [port.clusterIp, ...port.loadBalancerIps, ...port.externalIps])
      byAddress.set(hostPort(address, port.port), serving)
    // By the port alone nobody can tell whose conversation it was: with no endpoint left, all on that port would end.
    if (port.nodePort !== 0 && serving.size > 0) byNodePort.set(port.nodePort, serving)
  }
  if (byAddress.size === 0) return []
  const stale: Flow[] = []
  let count = 0
  for (const flow of flows) {
    if (++count % flowsInStep === 0) yield
    const endpoints = byAddress.get(hostPort(flow.destination, flow.destinationPort)) ?? byNodePort.get(flow.destinationPort)
    if (endpoints !== undefined && !endpoints.has(hostPort(flow.replySource, flow.replySourcePort))) stale.push(flow)
  }
  return stale
}

/** What the same endpoint answers at the same address and port, once: whoever spoke to it, all of it is to end. */
export function withoutClients(flows: Iterable<Flow>): Omit<Flow, 'source' | 'sourcePort'>[] {
  const found = new Map<string, Flow>()
  for (const flow of flows) {
    const { destination, destinationPort, replySource, replySourcePort } = flow
    found.set(`${destination} ${destinationPort} ${replySource} ${replySourcePort}`, flow)
  }
  return [...found.values()]
}
