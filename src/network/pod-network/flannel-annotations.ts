/** What nodes say of themselves to the network of pods, in Flannel's words. */

import type { V1Node } from '#api/core/v1/types.gen.ts'
import { canonicalCidr, canonicalIp } from '#api/meta/ip.ts'
import { defined } from '#base/defined.ts'
import { ipv4In, tunnelOf } from '#network/calico/tunnel-annotations.ts'
import { type BackendData, isIpv6, type Peer } from '#network/pod-network/plan.ts'

const prefix = 'flannel.alpha.coreos.com'
/** Calico's word for nodes that hand on routes. */
const reflector = 'projectcalico.org/RouteReflectorClusterID'
const annotation = {
  backendData: `${prefix}/backend-data`,
  backendV6Data: `${prefix}/backend-v6-data`,
  backendType: `${prefix}/backend-type`,
  subnetManager: `${prefix}/kube-subnet-manager`,
  publicIp: `${prefix}/public-ip`,
  publicIpv6: `${prefix}/public-ipv6`,
  /** Set by people, for nodes that are reached by another address than they know. */
  publicIpOverwrite: `${prefix}/public-ip-overwrite`,
  publicIpv6Overwrite: `${prefix}/public-ipv6-overwrite`,
}

export type OwnWords = { type: string; address: string; addressV6?: string | undefined; data?: BackendData; dataV6?: BackendData }

/** A merge patch's annotations: those that are not said any more are null. */
export function annotationsOf({ type, address, addressV6, data, dataV6 }: OwnWords): Record<string, string | null> {
  return {
    [annotation.backendType]: type,
    [annotation.backendData]: data === undefined ? 'null' : JSON.stringify(data),
    [annotation.backendV6Data]: dataV6 === undefined ? null : JSON.stringify(dataV6),
    [annotation.subnetManager]: 'true',
    [annotation.publicIp]: address,
    [annotation.publicIpv6]: addressV6 ?? null,
  }
}

export function areSaid(wanted: Record<string, string | null>, node: V1Node): boolean {
  const said = node.metadata.annotations ?? {}
  return Object.entries(wanted).every(([key, value]) => (said[key] ?? null) === value)
}

/**
 * Undefined for a node that has no addresses for pods yet. What a node says of itself becomes a part of what every other node tells its
 * kernel: nothing but addresses and ranges comes from here.
 */
export function peerOf(node: V1Node): Peer | undefined {
  const podCidrs = (node.spec?.podCIDRs ?? (node.spec?.podCIDR ? [node.spec.podCIDR] : []))
    .map(canonicalCidr)
    .filter((cidr) => cidr !== undefined)
  if (podCidrs.length === 0) return undefined
  const said = node.metadata.annotations ?? {}
  const internal = (node.status?.addresses ?? []).filter(({ type }) => type === 'InternalIP').map(({ address }) => address)
  const first = (candidates: readonly (string | undefined)[], isOfFamily: (address: string) => boolean) =>
    candidates.map((candidate) => canonicalIp(candidate ?? '')).find((address) => address !== undefined && isOfFamily(address))
  const ipv4 = first([said[annotation.publicIpOverwrite], said[annotation.publicIp], ...internal], (address) => !isIpv6(address))
  const ipv6 = first([said[annotation.publicIpv6Overwrite], said[annotation.publicIpv6], ...internal], isIpv6)
  const type = said[annotation.backendType]
  const cluster = said[reflector]
  return {
    ...defined({ reflectorClusterId: cluster === undefined ? undefined : ipv4In(cluster) }),
    name: node.metadata.name ?? '',
    podCidrs,
    ...defined({ tunnel: tunnelOf(node) }),
    addresses: [ipv4, ipv6].filter((address) => address !== undefined),
    ...defined({
      backend:
        type === undefined
          ? undefined
          : { type, data: dataIn(said[annotation.backendData]), dataV6: dataIn(said[annotation.backendV6Data]) },
    }),
  }
}

/** Anybody may write annotations: what is no data of ours is none. */
function dataIn(text: string | undefined): BackendData {
  try {
    const { VNI, VtepMAC, PublicKey } = (JSON.parse(text ?? '{}') ?? {}) as Record<string, unknown>
    return {
      ...defined({
        VNI: typeof VNI === 'number' ? VNI : undefined,
        VtepMAC: typeof VtepMAC === 'string' && /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(VtepMAC) ? VtepMAC.toLowerCase() : undefined,
        PublicKey: typeof PublicKey === 'string' && /^[A-Za-z0-9+/]{43}=$/.test(PublicKey) ? PublicKey : undefined,
      }),
    }
  } catch {
    return {}
  }
}
