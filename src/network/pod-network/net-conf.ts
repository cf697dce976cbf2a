/** Flannel's `net-conf.json`: the range of all pods and how nodes are joined. */
import { parseRange, prefixLength } from '#base/ip-range.ts'
import type { IpipMode } from '#network/pod-network/ipip.ts'

export const backendTypes = ['host-gw', 'vxlan', 'udp', 'wireguard', 'bgp', 'none'] as const
export type BackendType = (typeof backendTypes)[number]

export type NetConf = {
  /** One for each family. */
  networks: readonly string[]
  /** The size of a node's piece. */
  subnetLengths: { ipv4: number; ipv6: number }
  backend: {
    type: BackendType
    vni: number
    port: number
    directRouting: boolean
    mtu: number | undefined
    /** Of WireGuard: how often a silent peer is spoken to (0: never), and a key that all nodes share besides their own. */
    keepaliveSeconds: number
    presharedKey: string | undefined
    /** Of bgp: which packets are wrapped. */
    ipipMode: IpipMode
  }
}

const defaultPorts: Partial<Record<BackendType, number>> = { vxlan: 8472, udp: 8285, wireguard: 51_820 }

/** Throws what is wrong with it. */
export function parseNetConf(text: string): NetConf {
  const conf: unknown = JSON.parse(text)
  if (conf === null || typeof conf !== 'object' || Array.isArray(conf)) throw new Error('net-conf: it is not an object')
  const { Network, IPv6Network, EnableIPv4, EnableIPv6, SubnetLen, IPv6SubnetLen, Backend } = conf as Record<string, unknown>
  const networks = [
    ...(EnableIPv4 === false ? [] : [range('Network', Network)]),
    ...(EnableIPv6 === true ? [range('IPv6Network', IPv6Network)] : []),
  ]
  const ipv4 = length('SubnetLen', SubnetLen, 24)
  const own = networks.find((network) => !network.includes(':'))
  if (own !== undefined && ipv4 <= prefixLength(parseRange(own)))
    throw new Error(`net-conf: SubnetLen ${ipv4} must be longer than that of Network ${own}`)
  return { networks, subnetLengths: { ipv4, ipv6: length('IPv6SubnetLen', IPv6SubnetLen, 64) }, backend: backendIn(Backend) }
}

export function defaultBackend(type: BackendType): NetConf['backend'] {
  return {
    ...{ type, vni: 1, port: defaultPorts[type] ?? 0, directRouting: false, mtu: undefined },
    ...{ keepaliveSeconds: 0, presharedKey: undefined, ipipMode: 'Never' },
  }
}

function backendIn(value: unknown): NetConf['backend'] {
  // Flannel's own default.
  const {
    Type = 'udp',
    VNI,
    Port,
    ListenPort,
    DirectRouting,
    MTU,
    PSK,
    PersistentKeepaliveInterval,
  } = (value ?? {}) as Record<string, unknown>
  const type = backendTypes.find((known) => known === Type)
  if (type === undefined) throw new Error(`net-conf: there is no backend ${JSON.stringify(Type)}; there are ${backendTypes.join(', ')}`)
  const usual = defaultBackend(type)
  if (PSK !== undefined && (typeof PSK !== 'string' || !/^[A-Za-z0-9+/]{43}=$/.test(PSK)))
    throw new Error('net-conf: PSK is no key of WireGuard')
  return {
    ...usual,
    vni: whole('VNI', VNI, usual.vni, 0xff_ffff),
    port: whole('Port', Port ?? ListenPort, usual.port, 65_535) || usual.port,
    directRouting: DirectRouting === true,
    mtu: MTU === undefined || MTU === 0 ? undefined : whole('MTU', MTU, 0, 65_535),
    keepaliveSeconds: whole('PersistentKeepaliveInterval', PersistentKeepaliveInterval, 0, 65_535),
    presharedKey: PSK,
  }
}

function range(name: string, value: unknown): string {
  if (typeof value !== 'string' || !/^[0-9a-fA-F.:]+\/\d+$/.test(value))
    throw new Error(`net-conf: ${name} is no range such as 10.244.0.0/16`)
  return value
}

function length(name: string, value: unknown, usual: number): number {
  return whole(name, value, usual, 128)
}

function whole(name: string, value: unknown, usual: number, most: number): number {
  if (value === undefined) return usual
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > most)
    throw new Error(`net-conf: ${name} is no number up to ${most}`)
  return value
}
