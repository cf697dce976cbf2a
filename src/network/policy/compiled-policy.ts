import { everything, type LabelSelector, labelSelectorFrom, nothing } from '#api/meta/selector.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { V1NetworkPolicy, V1NetworkPolicyPeer, V1NetworkPolicyPort } from '#api/networking/v1/types.gen.ts'

export type Direction = 'ingress' | 'egress'

/** Pods by their labels and their namespace's. */
export type PodPeer = {
  kind: 'pods'
  /** The same for peers that mean the same. */
  key: string
  /** Undefined: any that `namespaces` selects. */
  namespace: string | undefined
  namespaces: LabelSelector
  pods: LabelSelector
}
export type BlockPeer = { kind: 'block'; cidr: string; except: readonly string[] }
export type Peer = PodPeer | BlockPeer

/** Undefined port: all of the protocol. */
export type PolicyPort = { protocol: string; port: number | string | undefined; endPort: number | undefined }

/** Undefined: everybody, every port. */
export type PolicyRule = { peers: readonly Peer[] | undefined; ports: readonly PolicyPort[] | undefined }

/** A policy with its selectors made ready. */
export type CompiledPolicy = {
  /** `namespace/name`. */
  key: string
  namespace: string
  selects: LabelSelector
  /** Absent where the policy does not isolate in that direction. */
  ingress?: readonly PolicyRule[]
  egress?: readonly PolicyRule[]
}

export function compilePolicy({ metadata, spec }: V1NetworkPolicy): CompiledPolicy {
  const namespace = metadata.namespace ?? ''
  const types = spec.policyTypes ?? ['Ingress', ...((spec.egress?.length ?? 0) > 0 ? ['Egress'] : [])]
  const rule = (peers: V1NetworkPolicyPeer[] | undefined, ports: V1NetworkPolicyPort[] | undefined): PolicyRule => ({
    peers: peers === undefined || peers.length === 0 ? undefined : peers.map((peer) => compilePeer(peer, namespace)),
    ports: ports === undefined || ports.length === 0 ? undefined : ports.map(compilePort),
  })
  return {
    key: `${namespace}/${metadata.name}`,
    namespace,
    selects: selectorOr(spec.podSelector, everything),
    ...(types.includes('Ingress') ? { ingress: (spec.ingress ?? []).map(({ from, ports }) => rule(from, ports)) } : {}),
    ...(types.includes('Egress') ? { egress: (spec.egress ?? []).map(({ to, ports }) => rule(to, ports)) } : {}),
  }
}

function compilePeer({ ipBlock, podSelector, namespaceSelector }: V1NetworkPolicyPeer, namespace: string): Peer {
  if (ipBlock) return { kind: 'block', cidr: ipBlock.cidr, except: ipBlock.except ?? [] }
  const pods = selectorOr(podSelector, everything)
  const namespaces = selectorOr(namespaceSelector, everything)
  const own = namespaceSelector === undefined ? namespace : undefined
  return { kind: 'pods', key: `${own ?? ''}|${own === undefined ? namespaces : ''}|${pods}`, namespace: own, namespaces, pods }
}

function compilePort({ protocol = 'TCP', port, endPort }: V1NetworkPolicyPort): PolicyPort {
  return { protocol, port, endPort: endPort ?? undefined }
}

/** A selector that cannot be read selects nothing, as upstream's agents have it. */
function selectorOr(selector: V1LabelSelector | undefined, otherwise: LabelSelector): LabelSelector {
  if (selector === undefined) return otherwise
  try {
    return labelSelectorFrom(selector)
  } catch {
    return nothing
  }
}
