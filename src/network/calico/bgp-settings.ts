/** What Calico's objects mean for the BGP of one node. Pure. */

import type { V1Node, V1Secret } from '#api/core/v1/types.gen.ts'
import { canonicalIp } from '#api/meta/ip.ts'
import { defined } from '#base/defined.ts'
import { parseDurationMs } from '#base/duration.ts'
import { isRange } from '#base/ip-range.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { BgpPeer } from '#network/bgp/bird-config.ts'
import type { BGPConfiguration, BGPPeer, IPAMBlock, IPPool } from '#network/calico/definitions.ts'
import { parseCalicoSelector } from '#network/calico/selector.ts'
import type { IpipMode } from '#network/pod-network/ipip.ts'

export type CalicoObjects = {
  pools: readonly IPPool[]
  peers: readonly BGPPeer[]
  configurations: readonly BGPConfiguration[]
  blocks: readonly IPAMBlock[]
  /** Those that peers name, where they are there. */
  secrets: readonly V1Secret[]
}
export const noCalicoObjects: CalicoObjects = { pools: [], peers: [], configurations: [], blocks: [], secrets: [] }

export type CalicoBgp = {
  asNumber: number
  /** All nodes speak to each other, or to those that reflect. */
  isMesh: boolean
  /** Besides the mesh. */
  peers: BgpPeer[]
  /** Ranges whose packets are wrapped, and when. */
  tunnelled: { cidr: string; mode: Exclude<IpipMode, 'Never'> }[]
  /** Ranges whose packets to other nodes are wrapped in frames, and when: others are told of them, the kernel is not. */
  framed: { cidr: string; mode: Exclude<IpipMode, 'Never'> }[]
  /** Ranges of services that others are told of. */
  advertised: string[]
  /** Ranges that nobody is told of. */
  withheld: string[]
  /** What cannot be read, for the log. */
  problems: string[]
}

const usualAsNumber = 64_512
const asAnnotation = 'projectcalico.org/ASNumber'
const reflectorAnnotation = 'projectcalico.org/RouteReflectorClusterID'

export function calicoBgp({ pools, peers, configurations, secrets }: CalicoObjects, own: V1Node, nodes: readonly V1Node[]): CalicoBgp {
  const problems: string[] = []
  const selects = (selector: string | undefined, { metadata }: V1Node, of: string): boolean => {
    try {
      return parseCalicoSelector(selector ?? '').matches(metadata.labels)
    } catch (error) {
      problems.push(`${of}: ${error instanceof Error ? error.message : error}`)
      return false
    }
  }
  const named = (name: string) => configurations.find(({ metadata }) => metadata.name === name)?.spec
  const spec = named('default')
  const numberOf = ({ metadata }: V1Node) =>
    asNumberOf(metadata.annotations?.[asAnnotation]) ??
    asNumberOf(named(`node.${metadata.name}`)?.asNumber) ??
    asNumberOf(spec?.asNumber) ??
    usualAsNumber
  const asNumber = numberOf(own)
  const isReflector = ({ metadata }: V1Node) => metadata.annotations?.[reflectorAnnotation] !== undefined
  const found: BgpPeer[] = []
  for (const { metadata, spec: peer } of peers) {
    const name = `BGPPeer ${metadata.name}`
    const speaks = (node: V1Node) => (peer.node ? peer.node === node.metadata.name : selects(peer.nodeSelector, node, name))
    const settings = settingsOf(peer, secrets)
    if (settings === undefined) {
      problems.push(`${name}: the secret ${peer.password?.secretKeyRef.name} of its password is not there, or of no use`)
      continue
    }
    if (peer.peerSelector !== undefined && peer.peerSelector !== '') {
      // Both ends are told of each other, whichever of them the selectors mean.
      const isMeant = (node: V1Node) => selects(peer.peerSelector, node, name)
      const [ownSpeaks, ownIsMeant] = [speaks(own), isMeant(own)]
      for (const node of nodes) {
        if (node.metadata.name === own.metadata.name) continue
        if (!(ownSpeaks && isMeant(node)) && !(ownIsMeant && speaks(node))) continue
        const isReflectorClient = isReflector(own) && !isReflector(node)
        for (const address of addressesOf(node)) {
          found.push({ name: node.metadata.name ?? '', address, asNumber: numberOf(node), isReflectorClient, ...settings })
        }
      }
      continue
    }
    if (!speaks(own)) continue
    const place = placeOf(peer.peerIP ?? '')
    const theirs = asNumberOf(peer.asNumber)
    if (place === undefined || theirs === undefined) problems.push(`${name}: it needs peerIP and asNumber, or peerSelector`)
    else found.push({ name: metadata.name ?? '', ...place, asNumber: theirs, isReflectorClient: false, ...settings })
  }
  const cidrs = (list: readonly { cidr: string }[] | undefined) => (list ?? []).map(({ cidr }) => cidr).filter(isRange)
  return {
    ...{ asNumber, isMesh: spec?.nodeToNodeMeshEnabled ?? true, problems: [...new Set(problems)] },
    peers: [...new Map(found.map((peer) => [`${peer.address} ${peer.port ?? ''}`, peer])).values()],
    tunnelled: pools.flatMap(({ spec: { cidr, ipipMode } }) => (ipipMode !== 'Never' && isRange(cidr) ? [{ cidr, mode: ipipMode }] : [])),
    framed: pools.flatMap(({ spec: { cidr, vxlanMode } }) => (vxlanMode !== 'Never' && isRange(cidr) ? [{ cidr, mode: vxlanMode }] : [])),
    advertised: [...cidrs(spec?.serviceClusterIPs), ...cidrs(spec?.serviceExternalIPs), ...cidrs(spec?.serviceLoadBalancerIPs)],
    withheld: pools.flatMap(({ spec: { cidr, disableBGPExport } }) => (disableBGPExport && isRange(cidr) ? [cidr] : [])),
  }
}

/** Undefined where a password is asked for that cannot be had: without it nobody is spoken to. */
function settingsOf(peer: BGPPeer['spec'], secrets: readonly V1Secret[]): Partial<BgpPeer> | undefined {
  const { keepOriginalNextHop, password, sourceAddress, maxRestartTime, numAllowedLocalASNumbers, ttlSecurity } = peer
  let secret: string | undefined
  if (password !== undefined) {
    const { name, key } = password.secretKeyRef
    const data = secrets.find(({ metadata }) => metadata.name === name)?.data?.[key]
    secret = data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8')
    // It becomes a part of BIRD's configuration, where quotes cannot be written.
    if (secret === undefined || !/^[^"\n\r\0]{1,80}$/.test(secret)) return undefined
  }
  const restartSeconds = maxRestartTime === undefined ? undefined : secondsIn(maxRestartTime)
  return {
    ...omitEmpty({ keepsNextHop: keepOriginalNextHop, takesAnySource: sourceAddress === 'None' }),
    ...defined({ password: secret, restartSeconds, ownNumbersAllowed: numAllowedLocalASNumbers, hops: ttlSecurity }),
  }
}

function secondsIn(text: string): number | undefined {
  try {
    return Math.min(4095, Math.max(1, Math.round(parseDurationMs(text) / 1000)))
  } catch {
    return undefined
  }
}

/** Ranges whose pods have the node's address for the world outside of all pools. */
export const natRanges = (pools: readonly IPPool[]): string[] =>
  pools.filter(({ spec }) => spec.natOutgoing && isRange(spec.cidr)).map(({ spec }) => spec.cidr)

/** `64512`, or as four bytes are written in two parts: `1.0`. */
function asNumberOf(value: number | string | undefined): number | undefined {
  const [, high, low] = /^(?:(\d{1,5})\.)?(\d{1,10})$/.exec(String(value ?? '')) ?? []
  if (low === undefined) return undefined
  const number = Number(high ?? 0) * 2 ** 16 + Number(low)
  return number > 0 && number < 2 ** 32 ? number : undefined
}

/** `192.0.2.1`, `192.0.2.1:1790`, `[fd00::1]:1790`, `fd00::1`. */
function placeOf(text: string): { address: string; port?: number } | undefined {
  const [, four, six, port] = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([0-9a-fA-F:]+)\])(?::(\d{1,5}))?$/.exec(text) ?? []
  // It becomes a part of BIRD's configuration: nothing else may be in it.
  const address = canonicalIp(four ?? six ?? text)
  return address === undefined || Number(port ?? 1) > 65_535
    ? undefined
    : { address, ...defined({ port: port === undefined ? undefined : Number(port) }) }
}

const addressesOf = ({ status }: V1Node): string[] =>
  (status?.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP')
    .map(({ address }) => canonicalIp(address))
    .filter((address) => address !== undefined)
