/** Whether policies allow a connection, and which of them decides. */
import {
  type AllowRule,
  appliesTo,
  type BlockPeer,
  type CompiledPolicy,
  type Direction,
  type OrderedRule,
  type Peer,
  type PolicyPort,
  policiesInOrder,
  type RulePort,
  type RuleSide,
  type ServiceEndpoint,
} from '#network/policy/compiled-policy.ts'
import type { PolicyPod } from '#network/policy/policy-pod.ts'
import { isInRange } from '#wire/nftables/address-ranges.ts'

/** One end of a connection: a pod, or somebody outside. `isNode`: the node that the other end is on. */
export type Party = { ip: string; pod?: PolicyPod; isNode?: boolean }

export type PolicyConnection = { from: Party; to: Party; protocol: string; port: number }

/** `labelsOf`: of a namespace. */
export type PolicySet = {
  policies: Iterable<CompiledPolicy>
  labelsOf(namespace: string): Readonly<Record<string, string>>
  /** Of a service, by `namespace/name`. */
  endpointsOf?(service: string): readonly ServiceEndpoint[]
}

export type DirectionVerdict = {
  isAllowed: boolean
  /** Policies that isolate the pod in this direction, by `namespace/name`. */
  isolatedBy: readonly string[]
  /** The first rule that lets it through. */
  allowedBy?: { policy: string; rule: number }
  /** A sentence. */
  why: string
}

export type PolicyVerdict = { isAllowed: boolean; egress: DirectionVerdict; ingress: DirectionVerdict }

export function evaluateConnection(world: PolicySet, connection: PolicyConnection): PolicyVerdict {
  const egress = validate(world, connection, 'egress')
  const ingress = validate(world, connection, 'ingress')
  return { isAllowed: egress.isAllowed && ingress.isAllowed, egress, ingress }
}

function validate(world: PolicySet, connection: PolicyConnection, direction: Direction): DirectionVerdict {
  const { policies, labelsOf } = world
  const [own, other] = direction === 'egress' ? [connection.from, connection.to] : [connection.to, connection.from]
  const { pod } = own
  const open = (why: string): DirectionVerdict => ({ isAllowed: true, isolatedBy: [], why })
  if (pod === undefined) return open(`${own.ip} is no pod of this cluster: no policy applies to it`)
  if (pod.isPeerOnly) return open(`${pod.key} is no pod: no policy applies to it`)
  if (other.pod?.key === pod.key) return open('a pod always reaches itself')
  if (other.isNode) return open("a pod's own node is always allowed")
  const isolating = policiesInOrder([...policies].filter((policy) => policy[direction] !== undefined && appliesTo(policy, pod, labelsOf)))
  if (isolating.length === 0) return open(`no NetworkPolicy selects pod ${pod.key} for ${direction}`)
  const isolatedBy = isolating.map(({ key }) => key)
  for (const policy of isolating) {
    for (const [index, rule] of (policy[direction] ?? []).entries()) {
      const outcome =
        rule.action === undefined
          ? ruleAllows(rule, other, connection, labelsOf)
            ? 'allow'
            : undefined
          : orderedOutcome(rule, connection, world)
      if (outcome === undefined) continue
      const why = `NetworkPolicy ${policy.key} ${outcome === 'allow' ? 'allows' : 'denies'} it: spec.${direction}[${index}]`
      if (outcome === 'deny') return { isAllowed: false, isolatedBy, why }
      return { isAllowed: true, isolatedBy, allowedBy: { policy: policy.key, rule: index }, why }
    }
  }
  const names = isolatedBy.join(', ')
  return {
    isAllowed: false,
    isolatedBy,
    why: `pod ${pod.key} is isolated for ${direction} by NetworkPolicy ${names}, and no rule allows it`,
  }
}

function orderedOutcome(
  { action, protocol, notProtocol, version, icmp, source, destination }: OrderedRule,
  { from, to, protocol: asked, port }: PolicyConnection,
  { labelsOf, endpointsOf = () => [] }: PolicySet,
): 'allow' | 'deny' | undefined {
  const name = asked.toLowerCase()
  const isMeant =
    (protocol === undefined || protocol === name) &&
    notProtocol !== name &&
    (version === undefined || (version === 6) === to.ip.includes(':')) &&
    // The port that the client sends from is not known here: a rule that asks for it is taken not to match.
    source.ports === undefined &&
    // Connections to ports are no messages of ICMP.
    icmp === undefined &&
    source.services.every(({ service }) => endpointsOf(service).some(({ ip }) => ip === from.ip)) &&
    destination.services.every(({ service }) =>
      endpointsOf(service).some((one) => one.ip === to.ip && one.port === port && one.protocol === asked),
    ) &&
    sideMatches(source, from, labelsOf) &&
    sideMatches(destination, to, labelsOf) &&
    (destination.ports === undefined || destination.ports.some((one) => rulePortMatches(one, to.pod, asked, port))) &&
    !destination.notPorts.some((one) => rulePortMatches(one, to.pod, asked, port))
  return isMeant && action !== 'log' ? action : undefined
}

function sideMatches({ nets, notNets, peers, notPeers }: RuleSide, { ip, pod }: Party, labelsOf: PolicySet['labelsOf']): boolean {
  return (
    (nets === undefined || nets.some((net) => isInRange(net, ip))) &&
    !notNets.some((net) => isInRange(net, ip)) &&
    peers.every((peer) => pod !== undefined && peerSelects(peer, pod, labelsOf)) &&
    !notPeers.some((peer) => pod !== undefined && peerSelects(peer, pod, labelsOf))
  )
}

function rulePortMatches(wanted: RulePort, pod: PolicyPod | undefined, protocol: string, port: number): boolean {
  if (wanted.name === undefined) return port >= wanted.from && port <= wanted.to
  return portMatches({ protocol, port: wanted.name, endPort: undefined }, pod, protocol, port)
}

function ruleAllows(
  { peers, ports }: AllowRule,
  other: Party,
  { to, protocol, port }: PolicyConnection,
  labelsOf: PolicySet['labelsOf'],
): boolean {
  const isPeer = peers === undefined || peers.some((peer) => peerMatches(peer, other, labelsOf))
  return isPeer && (ports === undefined || ports.some((each) => portMatches(each, to.pod, protocol, port)))
}

function peerMatches(peer: Peer, { ip, pod }: Party, labelsOf: PolicySet['labelsOf']): boolean {
  if (peer.kind === 'block') return blockContains(peer, ip)
  return pod !== undefined && peerSelects(peer, pod, labelsOf)
}

export function peerSelects(peer: Exclude<Peer, BlockPeer>, pod: PolicyPod, labelsOf: PolicySet['labelsOf']): boolean {
  if (peer.anyOf !== undefined) {
    const mayBe = peer.namespace === undefined || peer.namespace === pod.namespace
    return mayBe && peer.anyOf.some((one) => peerSelects(one, pod, labelsOf))
  }
  const isPlace = peer.namespace === undefined ? peer.namespaces.matches(labelsOf(pod.namespace)) : peer.namespace === pod.namespace
  return isPlace && peer.pods.matches(pod.labels)
}

function blockContains({ cidr, except }: BlockPeer, ip: string): boolean {
  return isInRange(cidr, ip) && !except.some((hole) => isInRange(hole, ip))
}

function portMatches(wanted: PolicyPort, pod: PolicyPod | undefined, protocol: string, port: number): boolean {
  if (wanted.protocol !== protocol) return false
  if (wanted.port === undefined) return true
  if (typeof wanted.port === 'number') return port >= wanted.port && port <= (wanted.endPort ?? wanted.port)
  return (pod?.namedPorts ?? []).some((named) => named.name === wanted.port && named.protocol === protocol && named.port === port)
}
