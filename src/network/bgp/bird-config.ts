/** What BIRD is told on a node: the node's blocks, and whom it speaks to. */
import { familyOf, type IpFamily } from '#base/ip-range.ts'
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
  /** Both ends sign what they send. No quotes may be in it. */
  password?: string
  /** Is spoken to from whichever address the kernel chooses. */
  takesAnySource?: boolean
  /** For how long routes are kept while it starts anew. */
  restartSeconds?: number
  /** How often this node's own number may be in what it tells. */
  ownNumbersAllowed?: number
  /** Only packets that have come by no more than so many hops count. */
  hops?: number
}

export type BgpSettings = {
  asNumber: number
  uplink: Uplink
  families: readonly IpFamily[]
  /** Of this node: what peers are told of. */
  blocks: readonly string[]
  peers: readonly BgpPeer[]
  /** Of this node, where it hands on what it hears to its clients. */
  reflectorClusterId: string | undefined
  /** Ranges whose packets are wrapped. */
  tunnelled: readonly { cidr: string; mode: Exclude<IpipMode, 'Never'> }[]
  /** Ranges of which the kernel is not told, since other routes lead to them: always, or those of nodes that are no neighbours. */
  framed?: readonly { cidr: string; mode: Exclude<IpipMode, 'Never'> }[]
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
  const {
    asNumber,
    uplink,
    blocks: ownBlocks,
    peers,
    reflectorClusterId,
    tunnelled,
    framed = [],
    advertised = [],
    withheld = [],
  } = settings
  const families = [
    { channel: 'ipv4', like: '0.0.0.0' },
    { channel: 'ipv6', like: '::' },
  ].filter(({ like }) => settings.families.includes(familyOf(like)))
  const local = (like: string) => (isIpv6(like) ? uplink.addressV6 : uplink.address)
  return `${[
    'log stderr { warning, error, fatal, bug };',
    `router id ${uplink.address};`,
    'protocol device { scan time 10; }',
    // What peers are reached by, also those that a reflector tells of.
    `protocol direct { ${families.map(({ channel }) => `${channel};`).join(' ')} interface "${uplink.interface}"; }`,
    ...families.flatMap(({ channel, like }) => {
      const isHere = (cidr: string) => isIpv6(cidr) === isIpv6(like)
      const blocks = ownBlocks.filter(isHere)
      const services = advertised.filter(isHere)
      return [
        // Routes stay in the kernel while BIRD is started anew. By the default route nodes are reached that are no neighbours.
        `filter to_kernel_${channel} { if source = RTS_DEVICE || proto = "services_${channel}" then reject;${framed
          .filter(({ cidr }) => isHere(cidr))
          .map((each) => leftOut(each, uplink))
          .join('')}${channel === 'ipv4' ? intoTunnel(tunnelled, uplink) : ''} accept; }`,
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
    ...peers.flatMap((peer, index) => {
      const { address } = peer
      const own = local(address)
      const family = families.find(({ like }) => isIpv6(like) === isIpv6(address))
      if (own === undefined || own === '' || family === undefined) return []
      return peerLines(peer, { index, own, asNumber, reflectorClusterId, channel: family.channel })
    }),
  ].join('\n')}\n`
}

type PeerPlace = { index: number; own: string; asNumber: number; reflectorClusterId: string | undefined; channel: string }

function peerLines(peer: BgpPeer, { index, own, asNumber, reflectorClusterId, channel }: PeerPlace): string[] {
  const { name, address, port, asNumber: theirs, isReflectorClient, keepsNextHop, password, restartSeconds, ownNumbersAllowed, hops } = peer
  const options = [
    `local ${peer.takesAnySource ? '' : `${own} `}as ${asNumber}`,
    `neighbor ${address}${port === undefined ? '' : ` port ${port}`} as ${theirs}`,
    // Those of other systems need not be neighbours, either.
    ...(hops === undefined ? (theirs === asNumber ? [] : ['multihop']) : [`multihop ${hops}`, 'ttl security on']),
    ...(password === undefined ? [] : [`password "${password}"`]),
    'graceful restart',
    ...(restartSeconds === undefined ? [] : [`graceful restart time ${restartSeconds}`]),
    ...(ownNumbersAllowed === undefined ? [] : [`allow local as ${ownNumbersAllowed}`]),
    ...(isReflectorClient ? ['rr client', `rr cluster id ${reflectorClusterId}`] : []),
    ...['connect delay time 1', 'connect retry time 3', 'error wait time 1, 10'],
  ]
  // A next hop that was heard from a client is handed on as it is: packets take the straight way.
  const keeping = keepsNextHop ? ' next hop keep;' : ''
  const exchanged = `${channel} { import all; export filter to_peers_${channel};${keeping} };`
  return [
    `# ${name.replaceAll(/[^\w.-]/g, '?')}`,
    `protocol bgp peer_${index} { ${options.map((option) => `${option};`).join(' ')} ${exchanged} }`,
  ]
}

/** Another route leads there, which is not BIRD's. */
function leftOut({ cidr, mode }: { cidr: string; mode: string }, { range, rangeV6 }: Uplink): string {
  const near = isIpv6(cidr) ? rangeV6 : range
  const isFar = mode === 'CrossSubnet' && near ? ` && ! (bgp_next_hop ~ ${near})` : ''
  return ` if source = RTS_BGP && net ~ [ ${cidr}+ ]${isFar} then reject;`
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
