/** Calico's policies in the shape that all policies have here. */

import { canonicalCidr, canonicalIp } from '#api/meta/ip.ts'
import { defined } from '#base/defined.ts'
import { accountLabel, accountLabelsIn } from '#network/calico/account-labels.ts'
import type { CalicoNetworkPolicy, GlobalNetworkPolicy } from '#network/calico/definitions.ts'
import { type CalicoSelector, parseCalicoSelector } from '#network/calico/selector.ts'
import type { CompiledPolicy, IcmpMatch, OrderedRule, PodPeer, RulePort, RuleSide, Selects } from '#network/policy/compiled-policy.ts'

type Rules = NonNullable<CalicoNetworkPolicy['spec']['ingress']>
type Rule = Rules[number]
type Side = NonNullable<Rule['source']>

/** Those without an order come after all others. */
const last = Number.POSITIVE_INFINITY

export function compileCalicoPolicy(policy: CalicoNetworkPolicy): CompiledPolicy {
  const { metadata, spec } = policy
  return {
    ...compiled(spec, metadata.namespace),
    key: `NetworkPolicy.projectcalico.org/${metadata.namespace}/${metadata.name}`,
    namespace: metadata.namespace ?? '',
  }
}

export function compileGlobalPolicy(policy: GlobalNetworkPolicy): CompiledPolicy {
  const { namespaceSelector } = policy.spec
  const namespaces = namespaceSelector ? { namespaces: ofNamespaces(selectorOr(namespaceSelector)) } : {}
  const whole = {
    ...compiled(policy.spec, undefined),
    key: `GlobalNetworkPolicy/${policy.metadata.name}`,
    namespace: undefined,
    ...namespaces,
  }
  const isOfHosts = policy.spec.preDNAT || policy.spec.doNotTrack
  return isOfHosts ? { ...whole, selects: nothing } : whole
}

function compiled(spec: CalicoNetworkPolicy['spec'], namespace: string | undefined): Omit<CompiledPolicy, 'key' | 'namespace'> {
  const { ingress, egress, order = last } = spec
  // Ingress unless there is nothing but egress, as Calico has it.
  const types = spec.types ?? [
    ...(egress === undefined || ingress !== undefined ? ['Ingress'] : []),
    ...(egress === undefined ? [] : ['Egress']),
  ]
  const rulesOf = (rules: Rules | undefined) =>
    (rules ?? []).map((rule) => compileRule(rule, namespace)).filter((rule) => rule !== undefined)
  return {
    ...{
      order,
      selects: runningAs(selectorOr(spec.selector), spec.serviceAccountSelector ? { selector: spec.serviceAccountSelector } : undefined),
    },
    ...defined({
      ingress: types.includes('Ingress') ? rulesOf(ingress) : undefined,
      egress: types.includes('Egress') ? rulesOf(egress) : undefined,
    }),
  }
}

/**
 * Undefined for a rule that can match nothing. What is not understood of a rule makes it stricter, never laxer: one that lets something
 * through does not match at all, one that denies goes without that part. Calico's own API server refuses what is not understood here; the
 * definitions take any text, which must neither become a part of what nft is told nor keep policies of others from it.
 */
function compileRule(rule: Rule, namespace: string | undefined): OrderedRule | undefined {
  const { action, protocol, notProtocol, ipVersion } = rule
  const isStrict = action === 'Deny'
  const source = compileSide(rule.source, namespace, 'source')
  const destination = compileSide(rule.destination, namespace, 'destination')
  const hasPorts = [source, destination].some(({ side }) => side.ports !== undefined || side.notPorts.length > 0)
  const [named, unnamed] = [protocolOf(protocol), protocolOf(notProtocol)]
  const isPlain = named !== undefined && named !== null && ['tcp', 'udp', 'sctp'].includes(named)
  const icmp = icmpOf(rule.icmp, protocol)
  const notIcmp = icmpOf(rule.notICMP, protocol)
  const isUnderstood =
    source.isUnderstood &&
    destination.isUnderstood &&
    (!hasPorts || isPlain) &&
    [named, unnamed, icmp, notIcmp].every((part) => part !== null) &&
    !rule.http
  if (!isUnderstood && !isStrict) return undefined
  const withoutPorts = (side: RuleSide): RuleSide => ({ ...side, ports: undefined, notPorts: [] })
  const keepsPorts = !hasPorts || isPlain
  return {
    // There is one tier and after it nothing that denies: what is passed on is let through.
    action: action === 'Deny' ? 'deny' : action === 'Log' ? 'log' : 'allow',
    ...defined({
      protocol: named ?? undefined,
      notProtocol: unnamed ?? undefined,
      icmp: icmp ?? undefined,
      notIcmp: notIcmp ?? undefined,
      version: ipVersion === 4 || ipVersion === 6 ? ipVersion : undefined,
    }),
    source: keepsPorts ? source.side : withoutPorts(source.side),
    destination: keepsPorts ? destination.side : withoutPorts(destination.side),
  }
}

const protocolNames = ['tcp', 'udp', 'sctp', 'icmp', 'icmpv6', 'udplite']

/** In small letters, or a number; null where it is neither. */
function protocolOf(value: number | string | undefined): string | undefined | null {
  if (value === undefined) return undefined
  const text = String(value).toLowerCase()
  return protocolNames.includes(text) || (/^\d{1,3}$/.test(text) && Number(text) <= 255) ? text : null
}

/** Null where it says something of another protocol; a code alone says nothing. */
function icmpOf(match: Rule['icmp'], protocol: number | string | undefined): IcmpMatch | undefined | null {
  if (match?.type === undefined) return match?.code === undefined ? undefined : null
  if (!['icmp', 'icmpv6', '1', '58'].includes(String(protocol).toLowerCase())) return null
  return { type: match.type, ...defined({ code: match.code }) }
}

function compileSide(side: Side | undefined, namespace: string | undefined, which: string): { side: RuleSide; isUnderstood: boolean } {
  const { nets, notNets, selector, notSelector, namespaceSelector, ports, notPorts, serviceAccounts, services } = side ?? {}
  // Whose service it is, a policy of the whole cluster must say.
  const service = services === undefined ? undefined : { service: `${services.namespace || namespace || ''}/${services.name}` }
  let isUnderstood = service === undefined || !service.service.startsWith('/')
  const [pods, notPods, places] = [selectorOr(selector), selectorOr(notSelector), selectorOr(namespaceSelector)]
  const isReadable = ![pods, notPods, places, selectorOr(serviceAccounts?.selector)].includes(nothing)
  if (!isReadable) isUnderstood = false
  const peer = (chosen: Selects): PodPeer => {
    const podSelector = runningAs(chosen, serviceAccounts)
    const namespaces = ofNamespaces(places)
    const own = namespaceSelector ? undefined : namespace
    return {
      kind: 'pods',
      key: `${own ?? ''}|${namespaceSelector ? namespaces : ''}|${podSelector}`,
      namespace: own,
      namespaces,
      pods: podSelector,
    }
  }
  const portsOf = (list: readonly (number | string)[] | undefined): RulePort[] =>
    (list ?? []).flatMap((port) => {
      const read = portOf(port)
      // Ports have names on the pods that serve them alone.
      if (read === undefined || (read.name !== undefined && which === 'source')) isUnderstood = false
      return read === undefined ? [] : [read]
    })
  const wanted = portsOf(ports)
  const unwanted = portsOf(notPorts)
  if (unwanted.some(({ name }) => name !== undefined)) isUnderstood = false
  // A list of which a part is not understood would let through what that part denies: such a rule goes without the list.
  const whole = <T>(given: readonly unknown[] | undefined, read: readonly T[]): readonly T[] | undefined =>
    given === undefined || given.length === 0 || given.length > read.length ? undefined : read
  const [wantedNets, unwantedNets] = [nets ?? [], notNets ?? []].map((list) => list.map(rangeIn).filter((net) => net !== undefined)) as [
    string[],
    string[],
  ]
  if (wantedNets.length < (nets?.length ?? 0) || unwantedNets.length < (notNets?.length ?? 0)) isUnderstood = false
  return {
    isUnderstood,
    side: {
      nets: whole(nets, wantedNets),
      notNets: unwantedNets,
      peers: isReadable && (selector || namespaceSelector || serviceAccounts) ? [peer(pods)] : [],
      notPeers: isReadable && notSelector ? [peer(notPods)] : [],
      services: service === undefined ? [] : [service],
      ports: whole(ports, wanted),
      notPorts: unwanted.filter(({ name }) => name === undefined),
    },
  }
}

/** A network, or one address as one. */
function rangeIn(text: string): string | undefined {
  if (text.includes('/')) return canonicalCidr(text)
  const address = canonicalIp(text)
  return address && `${address}/${address.includes(':') ? 128 : 32}`
}

/** `80`, `8000:8080`, `http`. */
function portOf(port: number | string): RulePort | undefined {
  const [, first, last] = /^(\d+)(?::(\d+))?$/.exec(String(port)) ?? []
  if (first !== undefined) {
    const [from, to] = [Number(first), Number(last ?? first)]
    return from <= to && to <= 65_535 ? { from, to } : undefined
  }
  return /^[a-z0-9-]{1,63}$/i.test(String(port)) ? { name: String(port) } : undefined
}

/** Pods whose service account has one of the names, and labels that the selector chooses. */
function runningAs(pods: Selects, accounts: { names?: readonly string[]; selector?: string } | undefined): Selects {
  if (accounts === undefined) return pods
  const names = new Set(accounts.names ?? [])
  const ofAccount = selectorOr(accounts.selector)
  return {
    matches: (labels) =>
      pods.matches(labels) &&
      (names.size === 0 || names.has(labels?.[accountLabel] ?? '')) &&
      (!accounts.selector || ofAccount.matches(accountLabelsIn(labels))),
    toString: () => `${pods} as ${[...names].sort().join()} ${accounts.selector ? ofAccount : ''}`,
  }
}

const nothing: CalicoSelector = { matches: () => false, toString: () => 'calico nothing' }

/** A selector that cannot be read selects nothing. */
function selectorOr(text: string | undefined): Selects {
  try {
    return parseCalicoSelector(text ?? '')
  } catch {
    return nothing
  }
}

/** Namespaces go by a name of Calico's too. */
function ofNamespaces(selector: Selects): Selects {
  return {
    matches: (labels) => selector.matches({ ...labels, 'projectcalico.org/name': labels?.['kubernetes.io/metadata.name'] ?? '' }),
    toString: () => selector.toString(),
  }
}
