/** Whether policies allow a connection, and which of them decides. */
import type { BlockPeer, CompiledPolicy, Direction, Peer, PolicyPort, PolicyRule } from '#network/policy/compiled-policy.ts'
import type { PolicyPod } from '#network/policy/policy-pod.ts'
import { isInRange } from '#wire/nftables/address-ranges.ts'

/** One end of a connection: a pod, or somebody outside. `isNode`: the node that the other end is on. */
export type Party = { ip: string; pod?: PolicyPod; isNode?: boolean }

export type PolicyConnection = { from: Party; to: Party; protocol: string; port: number }

/** `labelsOf`: of a namespace. */
export type PolicyWorld = { policies: Iterable<CompiledPolicy>; labelsOf(namespace: string): Readonly<Record<string, string>> }

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

export function evaluateConnection(world: PolicyWorld, connection: PolicyConnection): PolicyVerdict {
  const egress = validate(world, connection, 'egress')
  const ingress = validate(world, connection, 'ingress')
  return { isAllowed: egress.isAllowed && ingress.isAllowed, egress, ingress }
}

function validate({ policies, labelsOf }: PolicyWorld, connection: PolicyConnection, direction: Direction): DirectionVerdict {
  const [own, other] = direction === 'egress' ? [connection.from, connection.to] : [connection.to, connection.from]
  const { pod } = own
  const open = (why: string): DirectionVerdict => ({ isAllowed: true, isolatedBy: [], why })
  if (pod === undefined) return open(`${own.ip} is no pod of this cluster: no policy applies to it`)
  if (pod.isPeerOnly) return open(`${pod.key} is no pod: no policy applies to it`)
  if (other.pod?.key === pod.key) return open('a pod always reaches itself')
  if (other.isNode) return open("a pod's own node is always allowed")
  const isolating = [...policies].filter(
    (policy) => policy[direction] !== undefined && policy.namespace === pod.namespace && policy.selects.matches(pod.labels),
  )
  if (isolating.length === 0) return open(`no NetworkPolicy selects pod ${pod.key} for ${direction}`)
  const isolatedBy = isolating.map(({ key }) => key)
  for (const policy of isolating) {
    for (const [index, rule] of (policy[direction] ?? []).entries()) {
      if (!ruleAllows(rule, other, connection, labelsOf)) continue
      const why = `NetworkPolicy ${policy.key} allows it: spec.${direction}[${index}]`
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

function ruleAllows(
  { peers, ports }: PolicyRule,
  other: Party,
  { to, protocol, port }: PolicyConnection,
  labelsOf: PolicyWorld['labelsOf'],
): boolean {
  const isPeer = peers === undefined || peers.some((peer) => peerMatches(peer, other, labelsOf))
  return isPeer && (ports === undefined || ports.some((each) => portMatches(each, to.pod, protocol, port)))
}

function peerMatches(peer: Peer, { ip, pod }: Party, labelsOf: PolicyWorld['labelsOf']): boolean {
  if (peer.kind === 'block') return blockContains(peer, ip)
  return pod !== undefined && peerSelects(peer, pod, labelsOf)
}

export function peerSelects(peer: Exclude<Peer, BlockPeer>, pod: PolicyPod, labelsOf: PolicyWorld['labelsOf']): boolean {
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
