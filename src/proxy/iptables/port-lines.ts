/** The lines that one port of a service has in iptables, as upstream writes them. */
import type { ChainNames } from '#proxy/iptables/chain-names.ts'
import { iptablesPodMatch } from '#proxy/rules/pod-traffic.ts'
import type { RuleSettings } from '#proxy/rules/rule-settings.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import type { PortPlan } from '#proxy/service-table/port-plan.ts'
import { isExternallyAccessible } from '#proxy/service-table/service-port.ts'
import { isInRange } from '#wire/nftables/address-ranges.ts'

export type PortLines = {
  /** Lines of chains that all services share, by table and chain. */
  nat: { services: string[]; nodePorts: string[] }
  filter: { services: string[]; external: string[]; firewall: string[]; nodePorts: string[] }
  /** Chains of the service alone, in the table nat: their rules, without `-A CHAIN`. */
  chains: Map<string, string[]>
}

export function portLines(plan: PortPlan, settings: RuleSettings, names: ChainNames): PortLines {
  const { port, internal, external, hasAny } = plan
  const lines: PortLines = {
    nat: { services: [], nodePorts: [] },
    filter: { services: [], external: [], firewall: [], nodePorts: [] },
    chains: new Map(),
  }
  const protocol = port.protocol.toLowerCase()
  const toPort = (number: number): string => `-m ${protocol} -p ${protocol} --dport ${number}`
  const toAddress = (address: string): string => `-m ${protocol} -p ${protocol} -d ${address} --dport ${port.port}`
  const note = (text: string): string => `-m comment --comment "${text}"`
  const refusal = hasAny
    ? { why: note(`${port.name} has no local endpoints`), target: 'DROP' }
    : { why: note(`${port.name} has no endpoints`), target: 'REJECT' }
  const internalChain = port.isInternalLocal ? names.local(port) : names.service(port)
  const externalChain = names.external(port)
  const hasSources = hasAny && port.loadBalancerIps.length > 0 && port.sourceRanges.length > 0
  const isInternalOpen = internal.kind === 'endpoints'
  const isExternalOpen = external.kind === 'endpoints'
  const pods = iptablesPodMatch(settings.podTraffic, port.family)
  const notPods = iptablesPodMatch(settings.podTraffic, port.family, true)

  const ofCluster = `${note(`${port.name} cluster IP`)} ${toAddress(port.clusterIp)}`
  if (isInternalOpen) lines.nat.services.push(`${ofCluster} -j ${internalChain}`)
  else lines.filter.services.push(`${refusal.why} ${toAddress(port.clusterIp)} -j ${refusal.target}`)
  for (const [addresses, kind, chain] of [
    [port.externalIps, 'external IP', externalChain],
    [port.loadBalancerIps, 'loadbalancer IP', hasSources ? names.sources(port) : externalChain],
  ] as const) {
    for (const address of addresses) {
      if (hasAny) lines.nat.services.push(`${note(`${port.name} ${kind}`)} ${toAddress(address)} -j ${chain}`)
      if (!isExternalOpen) lines.filter.external.push(`${refusal.why} ${toAddress(address)} -j ${refusal.target}`)
    }
  }
  if (hasSources) {
    for (const address of port.loadBalancerIps) {
      lines.filter.firewall.push(`${note(`${port.name} traffic not accepted by ${names.sources(port)}`)} ${toAddress(address)} -j DROP`)
    }
  }
  if (port.nodePort !== 0) {
    if (hasAny) lines.nat.nodePorts.push(`${note(port.name)} ${toPort(port.nodePort)} -j ${externalChain}`)
    if (!isExternalOpen)
      lines.filter.external.push(`${refusal.why} -m addrtype --dst-type LOCAL ${toPort(port.nodePort)} -j ${refusal.target}`)
  }
  if (port.healthCheckNodePort !== 0) {
    lines.filter.nodePorts.push(
      `${note(`${port.name} health check node port`)} -m tcp -p tcp --dport ${port.healthCheckNodePort} -j ACCEPT`,
    )
  }

  if (plan.cluster.length > 0) lines.chains.set(names.service(port), choice(plan.cluster))
  if (plan.local.length > 0) lines.chains.set(names.local(port), choice(plan.local))
  if (isInternalOpen) {
    // Who comes from elsewhere has to be answered by way of this node.
    const mask = settings.masqueradeAll ? '' : notPods === undefined ? undefined : `${notPods} `
    if (mask !== undefined) lines.chains.get(internalChain)?.unshift(`${ofCluster} ${mask}-j ${names.markMasq}`)
  }
  if (hasAny && isExternallyAccessible(port)) lines.chains.set(externalChain, externalLines())
  if (hasSources) lines.chains.set(names.sources(port), sourceLines())
  for (const endpoint of new Map([...plan.cluster, ...plan.local].map((each) => [each.text, each])).values()) {
    lines.chains.set(names.endpoint(port, endpoint), endpointLines(endpoint))
  }
  return lines

  function choice(endpoints: readonly Endpoint[]): string[] {
    const to = (each: Endpoint): string => note(`${port.name} -> ${each.text}`)
    const sticky =
      port.affinitySeconds === undefined
        ? []
        : endpoints.map((each) => {
            const chain = names.endpoint(port, each)
            return `${to(each)} -m recent --name ${chain} --rcheck --seconds ${port.affinitySeconds} --reap -j ${chain}`
          })
    return [
      ...sticky,
      ...endpoints.map((each, index) => {
        const left = endpoints.length - index
        const chance = left > 1 ? ` -m statistic --mode random --probability ${(1 / left).toFixed(10)}` : ''
        return `${to(each)}${chance} -j ${names.endpoint(port, each)}`
      }),
    ]
  }

  function endpointLines(endpoint: Endpoint): string[] {
    const chain = names.endpoint(port, endpoint)
    const recent = port.affinitySeconds === undefined ? '' : ` -m recent --name ${chain} --set`
    return [
      `${note(port.name)} -s ${endpoint.ip} -j ${names.markMasq}`,
      `${note(port.name)}${recent} -m ${protocol} -p ${protocol} -j DNAT --to-destination ${endpoint.text}`,
    ]
  }

  function externalLines(): string[] {
    const where = `${port.name} external destinations`
    const anywhere = plan.cluster.length > 0 ? names.service(port) : undefined
    if (!port.isExternalLocal) {
      return [`${note(`masquerade traffic for ${where}`)} -j ${names.markMasq}`, ...(anywhere === undefined ? [] : [`-j ${anywhere}`])]
    }
    const ownNode = '-m addrtype --src-type LOCAL'
    return [
      ...(pods === undefined || anywhere === undefined ? [] : [`${note(`pod traffic for ${where}`)} ${pods} -j ${anywhere}`]),
      `${note(`masquerade LOCAL traffic for ${where}`)} ${ownNode} -j ${names.markMasq}`,
      ...(anywhere === undefined ? [] : [`${note(`route LOCAL traffic for ${where}`)} ${ownNode} -j ${anywhere}`]),
      ...(isExternalOpen ? [`-j ${names.local(port)}`] : []),
    ]
  }

  function sourceLines(): string[] {
    const of = note(`${port.name} loadbalancer IP`)
    const isNodeAllowed = settings.nodeIps.some((address) => port.sourceRanges.some((range) => isInRange(range, address)))
    const sources = [...port.sourceRanges, ...(isNodeAllowed ? port.loadBalancerIps : [])]
    return [
      ...sources.map((source) => `${of} -s ${source} -j ${externalChain}`),
      note(`other traffic to ${port.name} will be dropped by ${names.firewall}`),
    ]
  }
}
