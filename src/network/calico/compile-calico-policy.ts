/** Calico's policies in the shape that all policies have here. */
import type { CalicoNetworkPolicy, GlobalNetworkPolicy } from '#network/calico/definitions.ts'
import { type CalicoSelector, parseCalicoSelector } from '#network/calico/selector.ts'
import type { CompiledPolicy, OrderedRule, PodPeer, RulePort, RuleSide, Selects } from '#network/policy/compiled-policy.ts'

type Rules = NonNullable<CalicoNetworkPolicy['spec']['ingress']>
type Rule = Rules[number]
type Side = NonNullable<Rule['source']>

/** Those without an order come after all others. */
const last = Number.POSITIVE_INFINITY

const calicoPolicyKey = ({ metadata }: CalicoNetworkPolicy): string =>
  `NetworkPolicy.projectcalico.org/${metadata.namespace}/${metadata.name}`
const globalPolicyKey = ({ metadata }: GlobalNetworkPolicy): string => `GlobalNetworkPolicy/${metadata.name}`

export function compileCalicoPolicy(policy: CalicoNetworkPolicy): CompiledPolicy {
  const { metadata, spec } = policy
  return { ...compiled(spec, metadata.namespace), key: calicoPolicyKey(policy), namespace: metadata.namespace ?? '' }
}

export function compileGlobalPolicy(policy: GlobalNetworkPolicy): CompiledPolicy {
  const { namespaceSelector } = policy.spec
  const namespaces = namespaceSelector ? { namespaces: ofNamespaces(selectorOr(namespaceSelector)) } : {}
  return { ...compiled(policy.spec, undefined), key: globalPolicyKey(policy), namespace: undefined, ...namespaces }
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
    ...{ order, selects: selectorOr(spec.selector) },
    ...(types.includes('Ingress') ? { ingress: rulesOf(ingress) } : {}),
    ...(types.includes('Egress') ? { egress: rulesOf(egress) } : {}),
  }
}

/**
 * Undefined for a rule that can match nothing. What is not understood of a rule makes it stricter, never laxer: one that lets something
 * through does not match at all, one that denies goes without that part.
 */
function compileRule(rule: Rule, namespace: string | undefined): OrderedRule | undefined {
  const { action, protocol, notProtocol, ipVersion } = rule
  const isStrict = action === 'Deny'
  const source = compileSide(rule.source, namespace, 'source')
  const destination = compileSide(rule.destination, namespace, 'destination')
  const hasPorts = [source, destination].some(({ side }) => side.ports !== undefined || side.notPorts.length > 0)
  const isPlain = protocol !== undefined && ['tcp', 'udp', 'sctp'].includes(String(protocol).toLowerCase())
  const isUnderstood =
    source.isUnderstood && destination.isUnderstood && (!hasPorts || isPlain) && !rule.icmp && !rule.notICMP && !rule.http
  if (!isUnderstood && !isStrict) return undefined
  const withoutPorts = (side: RuleSide): RuleSide => ({ ...side, ports: undefined, notPorts: [] })
  const keepsPorts = !hasPorts || isPlain
  return {
    // There is one tier and after it nothing that denies: what is passed on is let through.
    action: action === 'Deny' ? 'deny' : action === 'Log' ? 'log' : 'allow',
    ...(protocol === undefined ? {} : { protocol: String(protocol).toLowerCase() }),
    ...(notProtocol === undefined ? {} : { notProtocol: String(notProtocol).toLowerCase() }),
    ...(ipVersion === 4 || ipVersion === 6 ? { version: ipVersion } : {}),
    source: keepsPorts ? source.side : withoutPorts(source.side),
    destination: keepsPorts ? destination.side : withoutPorts(destination.side),
  }
}

function compileSide(side: Side | undefined, namespace: string | undefined, which: string): { side: RuleSide; isUnderstood: boolean } {
  const { nets, notNets, selector, notSelector, namespaceSelector, ports, notPorts, serviceAccounts, services } = side ?? {}
  let isUnderstood = serviceAccounts === undefined && services === undefined
  const peer = (pods: string | undefined): PodPeer => {
    const podSelector = selectorOr(pods)
    const namespaces = ofNamespaces(selectorOr(namespaceSelector))
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
  const isRange = (text: string) => /^[0-9a-fA-F.:]+(\/\d{1,3})?$/.test(text)
  if ([...(nets ?? []), ...(notNets ?? [])].some((net) => !isRange(net))) isUnderstood = false
  return {
    isUnderstood,
    side: {
      nets: nets === undefined || nets.length === 0 ? undefined : nets.filter(isRange).map(asRange),
      notNets: (notNets ?? []).filter(isRange).map(asRange),
      peers: selector || namespaceSelector ? [peer(selector)] : [],
      notPeers: notSelector ? [peer(notSelector)] : [],
      ports: ports === undefined || ports.length === 0 ? undefined : wanted,
      notPorts: unwanted.filter(({ name }) => name === undefined),
    },
  }
}

const asRange = (text: string): string => (text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`)

/** `80`, `8000:8080`, `http`. */
function portOf(port: number | string): RulePort | undefined {
  const [, from, to] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(String(port)) ?? []
  if (from !== undefined) return { from: Number(from), to: Number(to ?? from) }
  return /^[a-z0-9-]{1,63}$/i.test(String(port)) ? { name: String(port) } : undefined
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
