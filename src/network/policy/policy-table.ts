import { atOnce, type Steps } from '#base/steps.ts'
import {
  appliesTo,
  type CompiledPolicy,
  type Direction,
  peersOf,
  policiesInOrder,
  type ServiceEndpoint,
  servicesOf,
} from '#network/policy/compiled-policy.ts'
import { PeerSets } from '#network/policy/peer-sets.ts'
import {
  addressType,
  type IpVersion,
  nameHash,
  policyChain,
  servicePortSet,
  serviceSet,
  versionOf,
  versions,
} from '#network/policy/policy-names.ts'
import type { PolicyPod } from '#network/policy/policy-pod.ts'
import { policyRules, portNamesOf } from '#network/policy/policy-rules.ts'
import { addElement, emptyFragment } from '#wire/nftables/nft-fragment.ts'
import { type LeftOut, NftTable } from '#wire/nftables/nft-table.ts'

const directions: readonly Direction[] = ['ingress', 'egress']
type Labels = Readonly<Record<string, string>>

/**
 * What the policies of a cluster mean on one node, as a table of nftables that changes with them.
 *
 * ```
 * forward ──> open connections go on; a pod reaches itself
 *    ├─ @egress  (who sends)    ──> group of policies ──> each policy ──a rule matches──> ingress
 *    │                                    └── none matches: drop
 *    └─ ingress ── @ingress (who receives) ──> group ──> each policy ──a rule matches──> accept
 *                                                └── none matches: drop
 * ```
 * Only the node's own pods are in `@egress` and `@ingress`; what a pod on another node may do is that node's business.
 */
export class PolicyTable {
  readonly #table: NftTable
  readonly #nodeName: string
  readonly #policies = new Map<string, CompiledPolicy>()
  /** By the namespace that alone they apply to. */
  readonly #policiesByNamespace = new Map<string | undefined, Map<string, CompiledPolicy>>()
  readonly #pods = new Map<string, PolicyPod>()
  readonly #podsByNamespace = new Map<string, Map<string, PolicyPod>>()
  readonly #namespaces = new Map<string, Labels>()
  readonly #peers: PeerSets
  /** Endpoints of services, and how many rules name each. */
  readonly #endpoints = new Map<string, readonly ServiceEndpoint[]>()
  readonly #serviceUses = new Map<string, number>()
  /** Pods of this node, by the group of policies that isolates them. */
  readonly #groups = new Map<string, Set<string>>()
  readonly #groupOf = new Map<string, string>()
  readonly #linkPrefix: string | undefined
  #ranges: readonly string[] = []
  /** What was told and is yet to be worked on: the last of each thing counts. */
  readonly #told = new Map<string, () => Steps<void>>()
  /** Pods whose isolation is to be looked at again. */
  readonly #stirred = new Set<string>()
  /** Names of ports that other pods have now. */
  readonly #stirredPorts = new Set<string>()

  /** `linkPrefix`: of the links that the node's pods have, where their addresses may be of any range. */
  constructor(nodeName: string, tableName = 'kube-network-policy', { linkPrefix }: { linkPrefix?: string } = {}) {
    this.#nodeName = nodeName
    this.#linkPrefix = linkPrefix
    this.#table = new NftTable('inet', tableName)
    this.#peers = new PeerSets(this.#table, {
      labelsOf: this.#labelsOf,
      podsIn: (namespace) => (namespace === undefined ? this.#pods : this.#podsByNamespace.get(namespace))?.values() ?? [],
    })
    this.#putBase()
  }

  /** The ranges that the node's pods have their addresses from. */
  setPodCidrs(ranges: readonly string[]): void {
    this.#ranges = ranges
    this.#putBase()
  }

  setPolicy(policy: CompiledPolicy): void {
    this.#tell(`policy ${policy.key}`, () => this.#takePolicy(policy.key, policy))
  }

  deletePolicy(key: string): void {
    this.#tell(`policy ${key}`, () => this.#takePolicy(key, undefined))
  }

  /** By `namespace/name`. */
  setService(service: string, endpoints: readonly ServiceEndpoint[]): void {
    if (endpoints.length === 0) this.#endpoints.delete(service)
    else this.#endpoints.set(service, endpoints)
    if (this.#serviceUses.has(service)) this.#putService(service)
  }

  setNamespace(name: string, labels: Labels): void {
    this.#tell(`namespace ${name}`, () => this.#takeNamespace(name, labels))
  }

  deleteNamespace(name: string): void {
    this.#tell(`namespace ${name}`, () => this.#takeNamespace(name, undefined))
  }

  setPod(pod: PolicyPod): void {
    this.#tell(`pod ${pod.key}`, () => this.#takePod(pod.key, pod))
  }

  deletePod(key: string): void {
    this.#tell(`pod ${key}`, () => this.#takePod(key, undefined))
  }

  /** The table with everything that was told. Nothing that is told is in it before, so that it is whole whenever this ends. */
  *update(): Steps<NftTable> {
    for (;;) {
      yield
      const [told] = this.#told
      const [stirred] = this.#stirred
      if (told !== undefined) {
        this.#told.delete(told[0])
        yield* told[1]()
      } else if (stirred !== undefined) {
        this.#stirred.delete(stirred)
        this.#isolate(stirred)
      } else if (this.#stirredPorts.size > 0) {
        const names = new Set(this.#stirredPorts)
        this.#stirredPorts.clear()
        // Policies that name ports depend on the pods that have them.
        for (const policy of this.#policies.values()) {
          yield
          for (const direction of directions) {
            if (!portNamesOf(policy, direction).isDisjointFrom(names)) this.#putDirection(policy, direction)
          }
        }
      } else return this.#table
    }
  }

  /** The same in one turn. */
  updated(): NftTable {
    return atOnce(this.update())
  }

  #tell(what: string, work: () => Steps<void>): void {
    // At the end: what was told before it is worked on before it.
    this.#told.delete(what)
    this.#told.set(what, work)
  }

  *#takePolicy(key: string, policy: CompiledPolicy | undefined): Steps<void> {
    const previous = this.#policies.get(key)
    const [added, gone] = [policy === undefined ? [] : [policy], previous === undefined ? [] : [previous]]
    for (const peer of added.flatMap(peersOf)) yield* this.#peers.use(peer)
    for (const service of added.flatMap(servicesOf)) this.#useService(service, 1)
    for (const peer of gone.flatMap(peersOf)) yield* this.#peers.release(peer)
    for (const service of gone.flatMap(servicesOf)) this.#useService(service, -1)
    if (policy === undefined) this.#policies.delete(key)
    else this.#policies.set(key, policy)
    for (const { namespace } of [...added, ...gone]) {
      const here = this.#policiesByNamespace.get(namespace) ?? new Map<string, CompiledPolicy>()
      if (policy !== undefined && policy.namespace === namespace) here.set(key, policy)
      else here.delete(key)
      if (here.size === 0) this.#policiesByNamespace.delete(namespace)
      else this.#policiesByNamespace.set(namespace, here)
      this.#stir(namespace)
    }
    for (const direction of directions) {
      yield
      if (policy?.[direction] === undefined) this.#table.remove(`policy ${direction} ${key}`)
      else this.#putDirection(policy, direction)
    }
    if (this.#policies.size < 2) this.#putBase()
  }

  *#takeNamespace(name: string, labels: Labels | undefined): Steps<void> {
    const isSame = JSON.stringify(this.#namespaces.get(name)) === JSON.stringify(labels)
    if (labels === undefined) this.#namespaces.delete(name)
    else this.#namespaces.set(name, labels)
    if (isSame || labels === undefined) return
    // Whom policies of the whole cluster apply to may depend on it, too.
    for (const [key, pod] of this.#podsByNamespace.get(name) ?? []) {
      yield* this.#peers.place(key, name, pod)
      this.#stirred.add(key)
    }
  }

  *#takePod(key: string, pod: PolicyPod | undefined): Steps<void> {
    const previous = this.#pods.get(key)
    if (JSON.stringify(previous) === JSON.stringify(pod)) return
    const namespace = (pod ?? previous)?.namespace ?? ''
    const here = this.#podsByNamespace.get(namespace) ?? new Map<string, PolicyPod>()
    if (pod === undefined) {
      this.#pods.delete(key)
      here.delete(key)
    } else {
      this.#pods.set(key, pod)
      here.set(key, pod)
    }
    if (here.size === 0) this.#podsByNamespace.delete(namespace)
    else this.#podsByNamespace.set(namespace, here)
    yield* this.#peers.place(key, namespace, pod)
    this.#stirred.add(key)
    for (const { name } of [...(pod?.namedPorts ?? []), ...(previous?.namedPorts ?? [])]) this.#stirredPorts.add(name)
  }

  /** What nft has not taken since this was last asked. */
  takeLeftOut(): LeftOut[] {
    return this.#table.takeLeftOut()
  }

  readonly #labelsOf = (namespace: string): Labels => this.#namespaces.get(namespace) ?? {}

  #useService(service: string, more: number): void {
    const uses = (this.#serviceUses.get(service) ?? 0) + more
    if (uses > 0) {
      this.#serviceUses.set(service, uses)
      if (uses === more) this.#putService(service)
      return
    }
    this.#serviceUses.delete(service)
    this.#table.remove(`service ${service}`)
  }

  #putService(service: string): void {
    const fragment = emptyFragment()
    for (const version of versions) {
      fragment.sets.set(serviceSet(service, version), `type ${addressType(version)};`)
      fragment.sets.set(servicePortSet(service, version), `type ${addressType(version)} . inet_proto . inet_service;`)
    }
    const endpoints = this.#endpoints.get(service) ?? []
    for (const ip of new Set(endpoints.map((endpoint) => endpoint.ip))) addElement(fragment, serviceSet(service, versionOf(ip)), ip)
    for (const each of new Set(endpoints.map(({ ip, protocol, port }) => `${ip} . ${protocol.toLowerCase()} . ${port}`))) {
      addElement(fragment, servicePortSet(service, versionOf(each)), each)
    }
    this.#table.put(`service ${service}`, fragment)
  }

  #putDirection(policy: CompiledPolicy, direction: Direction): void {
    const allows = direction === 'ingress' ? 'accept' : 'goto ingress'
    const rules = policyRules({ policy, direction, allows, pods: () => this.#podsOf(policy, direction) })
    this.#table.put(`policy ${direction} ${policy.key}`, rules)
  }

  /** Pods that a named port may be of; for egress those that are no peers are told apart by their addresses. */
  *#podsOf(policy: CompiledPolicy, direction: Direction): Generator<PolicyPod> {
    for (const pod of this.#pods.values()) {
      const isSelected = pod.nodeName === this.#nodeName && appliesTo(policy, pod, this.#labelsOf)
      if (direction === 'egress' || isSelected) yield pod
    }
  }

  /** Undefined: everywhere. */
  #stir(namespace: string | undefined): void {
    const keys = namespace === undefined ? this.#pods.keys() : (this.#podsByNamespace.get(namespace)?.keys() ?? [])
    for (const key of keys) this.#stirred.add(key)
  }

  /** Puts a pod of this node under the policies that select it, and makes it known. */
  #isolate(key: string): void {
    const pod = this.#pods.get(key)
    const isOurs = pod !== undefined && pod.nodeName === this.#nodeName && pod.ips.length > 0
    const fragment = emptyFragment()
    const groups: string[] = []
    if (isOurs) {
      for (const ip of pod.ips) {
        const version = versionOf(ip)
        addElement(fragment, `pods${version}`, ip)
        addElement(fragment, `self${version}`, `${ip} . ${ip}`)
      }
      for (const direction of directions) {
        const candidates = [pod.namespace, undefined].flatMap((place) => [...(this.#policiesByNamespace.get(place)?.values() ?? [])])
        const policies = candidates.filter((policy) => policy[direction] !== undefined && appliesTo(policy, pod, this.#labelsOf))
        if (policies.length === 0) continue
        // A group is known by its policies in their order: another order is another group.
        const group = this.#group(
          direction,
          policiesInOrder(policies).map(({ key: name }) => name),
        )
        groups.push(group)
        for (const ip of pod.ips) addElement(fragment, `${direction}${versionOf(ip)}`, ip, `goto ${group}`)
      }
    }
    for (const direction of directions)
      this.#join(
        `${direction} ${key}`,
        groups.find((group) => group.startsWith(`group-${direction}`)),
      )
    if (isOurs) this.#table.put(`pod ${key}`, fragment)
    else this.#table.remove(`pod ${key}`)
  }

  #group(direction: Direction, policies: readonly string[]): string {
    const name = `group-${direction}-${nameHash(policies.join('\n'))}`
    if (!this.#groups.has(name)) {
      this.#groups.set(name, new Set())
      const fragment = emptyFragment()
      fragment.chains.set(name, [...policies.map((policy) => `jump ${policyChain(policy, direction)}`), 'drop'])
      this.#table.put(name, fragment)
    }
    return name
  }

  #join(member: string, group: string | undefined): void {
    const previous = this.#groupOf.get(member)
    if (previous === group) return
    if (group === undefined) this.#groupOf.delete(member)
    else {
      this.#groupOf.set(member, group)
      this.#groups.get(group)?.add(member)
    }
    const left = previous === undefined ? undefined : this.#groups.get(previous)
    left?.delete(member)
    if (previous !== undefined && left?.size === 0) {
      this.#groups.delete(previous)
      this.#table.remove(previous)
    }
  }

  #putBase(): void {
    const fragment = emptyFragment()
    const { chains, sets } = fragment
    for (const version of versions) {
      const type = version === 4 ? 'ipv4_addr' : 'ipv6_addr'
      sets.set(`pods${version}`, `type ${type};`)
      sets.set(`self${version}`, `type ${type} . ${type};`)
      for (const direction of directions) sets.set(`${direction}${version}`, `type ${type} : verdict;`)
    }
    chains.set('ingress', ['ip daddr vmap @ingress4', 'ip6 daddr vmap @ingress6', 'accept'])
    const closed = this.#linkPrefix === undefined ? this.#ranges.flatMap(guard) : linkGuard(this.#linkPrefix)
    chains.set('guard', this.#policies.size === 0 ? [] : closed)
    chains.set('forward', [
      'type filter hook forward priority 0;',
      'ct state established,related accept',
      // Neighbours on a bridge find each other by these.
      'icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } accept',
      'ip saddr . ip daddr @self4 accept',
      'ip6 saddr . ip6 daddr @self6 accept',
      'jump guard',
      'ip saddr vmap @egress4',
      'ip6 saddr vmap @egress6',
      'goto ingress',
    ])
    this.#table.put('', fragment)
  }
}

/**
 * An address of the node's range that no pod is known to have belongs to one that starts: nothing gets in or out until
 * it is known, and with it the policies that select it.
 */
function guard(range: string): string[] {
  const version: IpVersion = versionOf(range)
  const ip = version === 4 ? 'ip' : 'ip6'
  return [`${ip} daddr ${range} ${ip} daddr != @pods${version} drop`, `${ip} saddr ${range} ${ip} saddr != @pods${version} drop`]
}

/** The same where pods are known by their links. */
function linkGuard(prefix: string): string[] {
  return versions.flatMap((version) => {
    const ip = version === 4 ? 'ip' : 'ip6'
    return [
      `meta nfproto ipv${version} oifname "${prefix}*" ${ip} daddr != @pods${version} drop`,
      `meta nfproto ipv${version} iifname "${prefix}*" ${ip} saddr != @pods${version} drop`,
    ]
  })
}
