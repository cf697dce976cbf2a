import { canonicalCidr } from '#api/meta/ip.ts'
import { everything, type LabelSelector, labelSelectorFrom, nothing } from '#api/meta/selector.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { V1NetworkPolicy, V1NetworkPolicyPeer, V1NetworkPolicyPort } from '#api/networking/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { nameHash } from '#network/policy/policy-names.ts'

/** Whatever chooses by labels. */
export type Selects = { matches(labels: Readonly<Record<string, string>> | undefined): boolean; toString(): string }

export type Direction = 'ingress' | 'egress'

/** Pods by their labels and their namespace's. */
export type PodPeer = {
  kind: 'pods'
  /** The same for peers that mean the same. */
  key: string
  /** Undefined: any that `namespaces` selects. */
  namespace: string | undefined
  namespaces: Selects
  pods: Selects
  /** Where there are any, it means whom they mean. */
  anyOf?: readonly PodPeer[]
}
export type BlockPeer = { kind: 'block'; cidr: string; except: readonly string[] }
export type Peer = PodPeer | BlockPeer

/** Undefined port: all of the protocol. */
export type PolicyPort = { protocol: string; port: number | string | undefined; endPort: number | undefined }

/** Undefined: everybody, every port. Lets through what matches. */
export type AllowRule = { action?: undefined; peers: readonly Peer[] | undefined; ports: readonly PolicyPort[] | undefined }

/** The endpoints of a service, by `namespace/name`: where a connection leads their ports count, where it comes from they do not. */
export type ServicePeer = { service: string }
export type ServiceEndpoint = { ip: string; protocol: string; port: number }

export type IcmpMatch = { type: number; code?: number }

export type RulePort = { from: number; to: number; name?: undefined } | { name: string }
/** All of it must hold. */
export type RuleSide = {
  nets: readonly string[] | undefined
  notNets: readonly string[]
  peers: readonly PodPeer[]
  notPeers: readonly PodPeer[]
  services: readonly ServicePeer[]
  ports: readonly RulePort[] | undefined
  notPorts: readonly RulePort[]
}
/** As Calico's: all of it must hold, and the first rule that matches decides. */
export type OrderedRule = {
  action: 'allow' | 'deny' | 'log'
  /** In small letters. */
  protocol?: string
  notProtocol?: string
  version?: 4 | 6
  icmp?: IcmpMatch
  notIcmp?: IcmpMatch
  source: RuleSide
  destination: RuleSide
}
export type PolicyRule = AllowRule | OrderedRule

/** A policy with its selectors made ready. */
export type CompiledPolicy = {
  /** `namespace/name`; those of Calico begin with their kind. */
  key: string
  /** Undefined: of every namespace that `namespaces` selects. */
  namespace: string | undefined
  namespaces?: Selects
  selects: Selects
  /** Those with lower ones are asked first. */
  order: number
  /** Absent where the policy does not isolate in that direction. */
  ingress?: readonly PolicyRule[]
  egress?: readonly PolicyRule[]
  /** Rules and selectors of pods that are past what one policy may have: what they allow is not allowed. */
  omitted?: number
}

/** Of one policy: rules, and selectors of pods in all of them. People write a few dozen; each is asked of every pod. */
const mostRules = 1000
const mostPeers = 1000

/** As Calico counts them in. */
const kubernetesOrder = 1000

export const policiesInOrder = (policies: readonly CompiledPolicy[]): CompiledPolicy[] =>
  policies.toSorted((one, other) => (one.order === other.order ? (one.key < other.key ? -1 : 1) : one.order < other.order ? -1 : 1))

export function appliesTo(
  { namespace, namespaces, selects }: CompiledPolicy,
  pod: { namespace: string; labels: Readonly<Record<string, string>> },
  labelsOf: (namespace: string) => Readonly<Record<string, string>>,
): boolean {
  const isPlace = namespace === undefined ? (namespaces?.matches(labelsOf(pod.namespace)) ?? true) : namespace === pod.namespace
  return isPlace && selects.matches(pod.labels)
}

/** All selectors of pods that a policy's rules have. */
export function peersOf({ ingress = [], egress = [] }: CompiledPolicy): PodPeer[] {
  return [...ingress, ...egress].flatMap((rule) => {
    if (rule.action === undefined) return podsMeantBy(rule) ?? []
    return [rule.source, rule.destination].flatMap(({ peers, notPeers }) => [...peers, ...notPeers])
  })
}

const unions = new WeakMap<readonly Peer[], PodPeer | undefined>()

/** All pods that a rule means by their labels, as one: a rule has one set of them, however many selectors it has. */
export function podsMeantBy({ peers = [] }: AllowRule): PodPeer | undefined {
  if (unions.has(peers)) return unions.get(peers)
  const each = new Map(peers.flatMap((peer) => (peer.kind === 'pods' ? [[peer.key, peer] as const] : [])))
  const anyOf = [...each.values()]
  const [first, ...more] = anyOf
  const union =
    first === undefined || more.length === 0
      ? first
      : { ...first, key: shortKey([...each.keys()].sort().join('\n')), anyOf, namespace: sharedNamespace(anyOf) }
  unions.set(peers, union)
  return union
}

const sharedNamespace = ([first, ...more]: readonly PodPeer[]): string | undefined =>
  more.every(({ namespace }) => namespace === first?.namespace) ? first?.namespace : undefined

/** It is a part of the names of all members: a long one stands there as its hash. */
const shortKey = (text: string): string => (text.length > 100 ? nameHash(text) : text)

/** All services that a policy's rules name. */
export function servicesOf({ ingress = [], egress = [] }: CompiledPolicy): string[] {
  const sides = [...ingress, ...egress].flatMap((rule) => (rule.action === undefined ? [] : [rule.source, rule.destination]))
  return sides.flatMap(({ services }) => services.map(({ service }) => service))
}

export function compilePolicy({ metadata, spec }: V1NetworkPolicy): CompiledPolicy {
  const namespace = metadata.namespace ?? ''
  const types = spec.policyTypes ?? ['Ingress', ...((spec.egress?.length ?? 0) > 0 ? ['Egress'] : [])]
  let [peerCount, omitted] = [0, 0]
  const isWithin = (peer: V1NetworkPolicyPeer): boolean => {
    if (peer.ipBlock || ++peerCount <= mostPeers) return true
    omitted++
    return false
  }
  const rule = (peers: V1NetworkPolicyPeer[] | undefined, ports: V1NetworkPolicyPort[] | undefined): AllowRule => ({
    // Where none of them is left it means nobody, not everybody.
    peers: peers === undefined || peers.length === 0 ? undefined : peers.filter(isWithin).flatMap((peer) => compilePeer(peer, namespace)),
    ports: ports === undefined || ports.length === 0 ? undefined : ports.map(compilePort),
  })
  const rulesOf = <T>(all: readonly T[] = [], compiled: (one: T) => AllowRule): AllowRule[] => {
    omitted += Math.max(0, all.length - mostRules)
    return all.slice(0, mostRules).map(compiled)
  }
  const ingress = types.includes('Ingress') ? rulesOf(spec.ingress, ({ from, ports }) => rule(from, ports)) : undefined
  const egress = types.includes('Egress') ? rulesOf(spec.egress, ({ to, ports }) => rule(to, ports)) : undefined
  return {
    key: `${namespace}/${metadata.name}`,
    namespace,
    selects: selectorOr(spec.podSelector, everything),
    order: kubernetesOrder,
    ...defined({ ingress, egress }),
    ...(omitted > 0 ? { omitted } : {}),
  }
}

/** None for a block that cannot be read: it lets nobody in. */
function compilePeer({ ipBlock, podSelector, namespaceSelector }: V1NetworkPolicyPeer, namespace: string): Peer[] {
  if (ipBlock) {
    const [cidr, ...except] = [ipBlock.cidr, ...(ipBlock.except ?? [])].map(canonicalCidr)
    return cidr === undefined || !except.every((hole) => hole !== undefined) ? [] : [{ kind: 'block', cidr, except }]
  }
  const pods = selectorOr(podSelector, everything)
  const namespaces = selectorOr(namespaceSelector, everything)
  const own = namespaceSelector === undefined ? namespace : undefined
  return [{ kind: 'pods', key: shortKey(`${own ?? ''}|${own === undefined ? namespaces : ''}|${pods}`), namespace: own, namespaces, pods }]
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
