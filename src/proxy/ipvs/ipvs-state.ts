/** What ipvs is to have for the services of one family: virtual servers, sets and addresses, as values. */
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import type { Outcome, PortPlan } from '#proxy/service-table/port-plan.ts'
import type { IpFamily, Protocol } from '#proxy/service-table/service-port.ts'

export type IpvsOptions = {
  /** `rr` unless said; any scheduler the kernel has. */
  scheduler: string
  /** Virtual servers in these ranges are somebody else's. */
  excludeCidrs: readonly string[]
  strictArp: boolean
  /** 0: the kernel's. */
  timeoutsSeconds: { tcp: number; tcpFin: number; udp: number }
}

export const ipvsSchedulers: readonly string[] = ['rr', 'wrr', 'lc', 'wlc', 'lblc', 'lblcr', 'sh', 'dh', 'sed', 'nq', 'fo', 'ovf', 'mh']

/** By `-t 10.96.0.10:80`: how it schedules, and its real servers with their weights. */
export type VirtualServer = { scheduler: string; persistenceSeconds: number | undefined; servers: Map<string, number> }

export type IpvsState = {
  virtualServers: Map<string, VirtualServer>
  /** By upstream's name. */
  sets: Map<IpvsSet, Set<string>>
  /** On the dummy interface. */
  addresses: Set<string>
}

/** Upstream's sets and their types. */
export const ipvsSets = {
  'LOOP-BACK': 'hash:ip,port,ip',
  'CLUSTER-IP': 'hash:ip,port',
  'EXTERNAL-IP': 'hash:ip,port',
  'EXTERNAL-IP-LOCAL': 'hash:ip,port',
  'LOAD-BALANCER': 'hash:ip,port',
  'LOAD-BALANCER-LOCAL': 'hash:ip,port',
  'LOAD-BALANCER-FW': 'hash:ip,port',
  'LOAD-BALANCER-SOURCE-CIDR': 'hash:ip,port,net',
  'NODE-PORT-TCP': 'bitmap:port',
  'NODE-PORT-LOCAL-TCP': 'bitmap:port',
  'NODE-PORT-UDP': 'bitmap:port',
  'NODE-PORT-LOCAL-UDP': 'bitmap:port',
  'NODE-PORT-SCTP-HASH': 'hash:ip,port',
  'NODE-PORT-LOCAL-SCTP-HASH': 'hash:ip,port',
  'HEALTH-CHECK-NODE-PORT': 'bitmap:port',
  'IPVS-IPS': 'hash:ip',
} as const
export type IpvsSet = keyof typeof ipvsSets

const flags: Record<Protocol, string> = { TCP: '-t', UDP: '-u', SCTP: '--sctp-service' }

export function ipvsStateOf(plans: Iterable<PortPlan>, family: IpFamily, scheduler: string, nodeIps: readonly string[]): IpvsState {
  const state: IpvsState = { virtualServers: new Map(), sets: new Map(), addresses: new Set() }
  for (const name of Object.keys(ipvsSets) as IpvsSet[]) state.sets.set(name, new Set())
  for (const plan of plans) if (plan.port.family === family) addPlan(state, plan, scheduler, nodeIps)
  return state
}

function addPlan(state: IpvsState, plan: PortPlan, scheduler: string, nodeIps: readonly string[]): void {
  const { port } = plan
  const protocol = port.protocol.toLowerCase()
  const put = (set: IpvsSet, entry: string) => state.sets.get(set)?.add(entry)
  const serve = (address: string, number: number, outcome: Outcome) => {
    const host = address.includes(':') ? `[${address}]` : address
    state.virtualServers.set(`${flags[port.protocol]} ${host}:${number}`, {
      scheduler: scheduler || 'rr',
      persistenceSeconds: port.affinitySeconds,
      servers: new Map(outcome.kind === 'endpoints' ? outcome.endpoints.map(({ text }) => [text, 1]) : []),
    })
  }
  const own = (address: string) => {
    state.addresses.add(address)
    put('IPVS-IPS', address)
  }
  for (const { ip, port: number } of plan.hairpins as readonly Endpoint[]) put('LOOP-BACK', `${ip},${protocol}:${number},${ip}`)

  put('CLUSTER-IP', `${port.clusterIp},${protocol}:${port.port}`)
  serve(port.clusterIp, port.port, plan.internal)
  own(port.clusterIp)
  for (const address of port.externalIps) {
    put(port.isExternalLocal ? 'EXTERNAL-IP-LOCAL' : 'EXTERNAL-IP', `${address},${protocol}:${port.port}`)
    serve(address, port.port, plan.external)
    own(address)
  }
  for (const address of port.loadBalancerIps) {
    const entry = `${address},${protocol}:${port.port}`
    put('LOAD-BALANCER', entry)
    if (port.isExternalLocal) put('LOAD-BALANCER-LOCAL', entry)
    if (port.sourceRanges.length > 0) {
      put('LOAD-BALANCER-FW', entry)
      for (const range of port.sourceRanges) put('LOAD-BALANCER-SOURCE-CIDR', `${entry},${range}`)
    }
    serve(address, port.port, plan.external)
    own(address)
  }
  if (port.nodePort !== 0) {
    for (const address of nodeIps) serve(address, port.nodePort, plan.external)
    if (port.protocol === 'SCTP') {
      for (const address of nodeIps) {
        put('NODE-PORT-SCTP-HASH', `${address},sctp:${port.nodePort}`)
        if (port.isExternalLocal) put('NODE-PORT-LOCAL-SCTP-HASH', `${address},sctp:${port.nodePort}`)
      }
    } else {
      put(`NODE-PORT-${port.protocol}`, String(port.nodePort))
      if (port.isExternalLocal) put(`NODE-PORT-LOCAL-${port.protocol}`, String(port.nodePort))
    }
  }
  if (port.healthCheckNodePort !== 0) put('HEALTH-CHECK-NODE-PORT', String(port.healthCheckNodePort))
}
