/** What BIRD is told on a node: the node's blocks, and whom it speaks to. */
import { blocksOf } from '#network/bgp/blocks.ts'
import { type IpipMode, ipipDevice } from '#network/pod-network/ipip.ts'
import { isIpv6, type Peer, type Uplink } from '#network/pod-network/plan.ts'

export type BgpPeer = {
  name: string
  address: string
  /** The usual one where absent. */
  port?: number
  asNumber: number
  isReflectorClient: boolean
  /** Is told of next hops as they were heard, not of this node. */
  keepsNextHop?: boolean
}

export type BgpSettings = {
  asNumber: number
  uplink: Uplink
  podCidrs: readonly string[]
  peers: readonly BgpPeer[]
  /** Of this node, where it hands on what it hears to its clients. */
  reflectorClusterId: string | undefined
  /** Ranges whose packets are wrapped. */
  tunnelled: readonly { cidr: string; mode: Exclude<IpipMode, 'Never'> }[]
  /** Ranges that others are told of, though the kernel is not: services. */
  advertised?: readonly string[]
  /** Ranges that others are not told of. */
  withheld?: readonly string[]
}

/** All nodes speak to each other; where there are reflectors, to those alone. */
export function meshPeers(own: Peer, others: readonly Peer[], asNumber: number): BgpPeer[] {
  const isReflector = ({ reflectorClusterId }: Peer) => reflectorClusterId !== undefined
  const spokenTo = isReflector(own) || !others.some(isReflector) ? others : others.filter(isReflector)
  return spokenTo.flatMap((peer) =>
    peer.addresses.map((address) => ({ name: peer.name, address, asNumber, isReflectorClient: isReflector(own) && !isReflector(peer) })),
  )
}

export function birdConfig(settings: BgpSettings): string {
  const { asNumber, uplink, podCidrs, peers, reflectorClusterId, tunnelled, advertised = [], withheld = [] } = settings
  const families = [
    { channel: 'ipv4', like: '0.0.0.0' },
    { channel: 'ipv6', like: '::' },
  ].filter(({ like }) => podCidrs.some((cidr) => isIpv6(cidr) === isIpv6(like)))
  const local = (like: string) => (isIpv6(like) ? uplink.addressV6 : uplink.address)
  return `${[
    'log stderr { warning, error, fatal, bug };',
    `router id ${uplink.address};`,
    'protocol device { scan time 10; }',
    // What peers are reached by, also those that a reflector tells of.
    `protocol direct { ${families.map(({ channel }) => `${channel};`).join(' ')} interface "${uplink.interface}"; }`,
    ...families.flatMap(({ channel, like }) => {
      const isHere = (cidr: string) => isIpv6(cidr) === isIpv6(like)
      const blocks = podCidrs.filter(isHere).flatMap(blocksOf)
      const services = advertised.filter(isHere)
      return [
        // Routes stay in the kernel while BIRD is started anew. By the default route nodes are reached that are no neighbours.
        `filter to_kernel_${channel} { if source = RTS_DEVICE || proto = "services_${channel}" then reject;${channel === 'ipv4' ? intoTunnel(tunnelled, uplink) : ''} accept; }`,
        `filter to_peers_${channel} {${withheld
          .filter(isHere)
          .map((cidr) => ` if net ~ [ ${cidr}+ ] then reject;`)
          .join('')} if source ~ [ RTS_STATIC, RTS_BGP ] then accept; reject; }`,
        `protocol kernel kernel_${channel} { persist; learn; scan time 10; ${channel} { import where net = ${like}/0; export filter to_kernel_${channel}; }; graceful restart; }`,
        // What is for a pod that is not there ends here, and does not go round in circles.
        `protocol static blocks_${channel} { ${channel}; ${blocks.map((block) => `route ${block} blackhole;`).join(' ')} }`,
        ...(services.length === 0
          ? []
          : [`protocol static services_${channel} { ${channel}; ${services.map((cidr) => `route ${cidr} blackhole;`).join(' ')} }`]),
      ]
    }),
    ...peers.flatMap(({ name, address, port, asNumber: theirs, isReflectorClient, keepsNextHop }, index) => {
      const own = local(address)
      const family = families.find(({ like }) => isIpv6(like) === isIpv6(address))
      if (own === undefined || own === '' || family === undefined) return []
      const reflecting = isReflectorClient ? ` rr client; rr cluster id ${reflectorClusterId};` : ''
      // A next hop that was heard from a client is handed on as it is: packets take the straight way.
      const keeping = keepsNextHop ? ' next hop keep;' : ''
      const channel = `${family.channel} { import all; export filter to_peers_${family.channel};${keeping} };`
      // Those of other systems need not be neighbours, either.
      const far = theirs === asNumber ? '' : ' multihop;'
      return [
        `# ${name.replaceAll(/[^\w.-]/g, '?')}`,
        `protocol bgp peer_${index} { local ${own} as ${asNumber}; neighbor ${address}${port === undefined ? '' : ` port ${port}`} as ${theirs};${far} graceful restart;${reflecting} connect delay time 1; connect retry time 3; error wait time 1, 10; ${channel} }`,
      ]
    }),
  ].join('\n')}\n`
}

/** Routes to other nodes lead into the tunnel, whose other end is the node itself. */
function intoTunnel(tunnelled: BgpSettings['tunnelled'], { range }: Uplink): string {
  return tunnelled
    .filter(({ cidr }) => !isIpv6(cidr))
    .map(({ cidr, mode }) => {
      const isFar = mode === 'CrossSubnet' ? ` && ! (bgp_next_hop ~ ${range})` : ''
      const isMeant = `source = RTS_BGP && net ~ [ ${cidr}+ ]${isFar}`
      // In this order: a new interface makes BIRD forget the next hop.
      return ` if ${isMeant} then { ip node = bgp_next_hop; ifname = "${ipipDevice}"; onlink = true; gw = node; accept; }`
    })
    .join('')
}
