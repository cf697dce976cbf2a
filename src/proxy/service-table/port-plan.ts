import { chooseEndpoints, type EndpointChoice, type ProxyNode } from '#proxy/service-table/choose-endpoints.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import type { ServicePort } from '#proxy/service-table/service-port.ts'

/** `reject`: nobody anywhere answers, and the client is told. `drop`: others do, but not on this node, and the client tries elsewhere. */
export type Outcome = { kind: 'endpoints'; endpoints: readonly Endpoint[] } | { kind: 'reject' } | { kind: 'drop' }

/** What every way of proxying has to bring about for one port of a service, on one node. */
export type PortPlan = EndpointChoice & {
  port: ServicePort
  /** For the cluster's own address. */
  internal: Outcome
  /** For node ports, outside addresses and those of load balancers, from outside. */
  external: Outcome
  /** For the same from pods and from this node: as if it went out and came back, whatever the policy. */
  shortCircuit: Outcome
  /** Endpoints on this node, which may be their own clients. */
  hairpins: readonly Endpoint[]
}

export function planPort(port: ServicePort, all: readonly Endpoint[], node: ProxyNode): PortPlan {
  const choice = chooseEndpoints(all, port, node)
  const { cluster, local, hasAny } = choice
  const outcome = (isLocalOnly: boolean): Outcome => {
    if (!hasAny) return { kind: 'reject' }
    const endpoints = isLocalOnly ? local : cluster
    return endpoints.length > 0 ? { kind: 'endpoints', endpoints } : { kind: 'drop' }
  }
  const reachable = new Map([...cluster, ...local].map((endpoint) => [endpoint.text, endpoint]))
  return {
    ...choice,
    port,
    internal: outcome(port.isInternalLocal),
    external: outcome(port.isExternalLocal),
    shortCircuit: outcome(false),
    hairpins: [...reachable.values()].filter(({ nodeName }) => nodeName === node.name),
  }
}
