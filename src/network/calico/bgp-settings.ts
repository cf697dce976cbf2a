/** What Calico's objects mean for the BGP of one node. Pure. */
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { BgpPeer } from '#network/bgp/bird-config.ts'
import type { BGPConfiguration, BGPPeer, IPPool } from '#network/calico/definitions.ts'
import { parseCalicoSelector } from '#network/calico/selector.ts'
import type { IpipMode } from '#network/pod-network/ipip.ts'

export type CalicoObjects = { pools: readonly IPPool[]; peers: readonly BGPPeer[]; configurations: readonly BGPConfiguration[] }

export type CalicoBgp = {
  asNumber: number
  /** All nodes speak to each other, or to those that reflect. */
  isMesh: boolean
  /** Besides the mesh. */
  peers: BgpPeer[]
  /** Ranges whose packets are wrapped, and when. */
  tunnelled: { cidr: string; mode: Exclude<IpipMode, 'Never'> }[]
  /** Ranges of services that others are told of. */
  advertised: string[]
  /** Ranges that nobody is told of. */
  withheld: string[]
  /** What cannot be read, for the log. */
  problems: string[]
}

const usualAsNumber = 64_512
const asAnnotation = 'projectcalico.org/ASNumber'

export function calicoBgp({ pools, peers, configurations }: CalicoObjects, own: V1Node, nodes: readonly V1Node[]): CalicoBgp {
  const problems: string[] = []
  const selects = (selector: string | undefined, { metadata }: V1Node, of: string): boolean => {
    try {
      return parseCalicoSelector(selector ?? '').matches(metadata.labels)
    } catch (error) {
      problems.push(`${of}: ${error instanceof Error ? error.message : error}`)
      return false
    }
  }
  const { spec } = configurations.find(({ metadata }) => metadata.name === 'default') ?? {}
  const asNumber = asNumberOf(own.metadata.annotations?.[asAnnotation]) ?? asNumberOf(spec?.asNumber) ?? usualAsNumber
  const found: BgpPeer[] = []
  for (const { metadata, spec: peer } of peers) {
    const name = `BGPPeer ${metadata.name}`
    const isOurs = peer.node === undefined || peer.node === '' ? selects(peer.nodeSelector, own, name) : peer.node === own.metadata.name
    if (!isOurs) continue
    const keeps = peer.keepOriginalNextHop ? { keepsNextHop: true } : {}
    if (peer.peerSelector !== undefined && peer.peerSelector !== '') {
      for (const node of nodes) {
        if (node.metadata.name === own.metadata.name || !selects(peer.peerSelector, node, name)) continue
        const theirs = asNumberOf(node.metadata.annotations?.[asAnnotation]) ?? asNumberOf(spec?.asNumber) ?? usualAsNumber
        for (const address of addressesOf(node)) {
          found.push({ name: node.metadata.name ?? '', address, asNumber: theirs, isReflectorClient: false, ...keeps })
        }
      }
      continue
    }
    const place = placeOf(peer.peerIP ?? '')
    const theirs = asNumberOf(peer.asNumber)
    if (place === undefined || theirs === undefined) problems.push(`${name}: it needs peerIP and asNumber, or peerSelector`)
    else found.push({ name: metadata.name ?? '', ...place, asNumber: theirs, isReflectorClient: false, ...keeps })
  }
  const cidrs = (list: readonly { cidr: string }[] | undefined) => (list ?? []).map(({ cidr }) => cidr).filter(isRange)
  return {
    ...{ asNumber, isMesh: spec?.nodeToNodeMeshEnabled ?? true, problems },
    peers: [...new Map(found.map((peer) => [`${peer.address} ${peer.port ?? ''}`, peer])).values()],
    tunnelled: pools.flatMap(({ spec: { cidr, ipipMode } }) => (ipipMode !== 'Never' && isRange(cidr) ? [{ cidr, mode: ipipMode }] : [])),
    advertised: [...cidrs(spec?.serviceClusterIPs), ...cidrs(spec?.serviceExternalIPs), ...cidrs(spec?.serviceLoadBalancerIPs)],
    withheld: pools.flatMap(({ spec: { cidr, disableBGPExport } }) => (disableBGPExport && isRange(cidr) ? [cidr] : [])),
  }
}

/** Ranges whose pods have the node's address for the world outside of all pools. */
export const natRanges = (pools: readonly IPPool[]): string[] => pools.filter(({ spec }) => spec.natOutgoing).map(({ spec }) => spec.cidr)

/** It becomes a part of BIRD's configuration: nothing else may be in it. */
const isRange = (text: string): boolean => /^[0-9a-fA-F.:]+\/\d{1,3}$/.test(text)

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
  const address = four ?? six ?? (/^[0-9a-fA-F:]+$/.test(text) && text.includes(':') ? text : undefined)
  return address === undefined ? undefined : { address, ...(port === undefined ? {} : { port: Number(port) }) }
}

const addressesOf = ({ status }: V1Node): string[] =>
  (status?.addresses ?? [])
    .filter(({ type, address }) => type === 'InternalIP' && placeOf(address) !== undefined)
    .map(({ address }) => address)
