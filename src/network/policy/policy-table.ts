import {
  appliesTo,
  type CompiledPolicy,
  type Direction,
  type PodPeer,
  peersOf,
  policiesInOrder,
  type ServiceEndpoint,
  servicesOf,
} from '#network/policy/compiled-policy.ts'
import { peerSelects } from '#network/policy/evaluate.ts'
import {
  addressType,
  type IpVersion,
  nameHash,
  peerSet,
  policyChain,
  servicePortSet,
  serviceSet,
  versionOf,
  versions,
} from '#network/policy/policy-names.ts'
import type { PolicyPod } from '#network/policy/policy-pod.ts'
import { policyRules, usesNamedPorts } from '#network/policy/policy-rules.ts'
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
  readonly #pods = new Map<string, PolicyPod>()
  readonly #podsByNamespace = new Map<string, Set<string>>()
  readonly #namespaces = new Map<string, Labels>()
  /** Peers that any policy means, and how many rules do. */
  readonly #peers = new Map<string, { peer: PodPeer; uses: number; members: Set<string> }>()
  /** Endpoints of services, and how many rules name each. */
  readonly #endpoints = new Map<string, readonly ServiceEndpoint[]>()
  readonly #serviceUses = new Map<string, number>()
  /** Pods of this node, by the group of policies that isolates them. */
  readonly #groups = new Map<string, Set<string>>()
  readonly #groupOf = new Map<string, string>()
  readonly #linkPrefix: string | undefined
  #ranges: readonly string[] = []
  /** Pods whose isolation is to be looked at again. */
  readonly #stirred = new Set<string>()
  #hasStirredPorts = false

  /** `linkPrefix`: of the links that the node's pods have, where their addresses may be of any range. */
  constructor(nodeName: string, tableName = 'kube-network-policy', { linkPrefix }: { linkPrefix?: string } = {}) {
    this.#nodeName = nodeName
    this.#linkPrefix = linkPrefix
    this.#table = new NftTable('inet', tableName)
    this.#putBase()
  }

  /** The ranges that the node's pods have their addresses from. */
  setPodCidrs(ranges: readonly string[]): void {
    this.#ranges = ranges
    this.#putBase()
  }

  setPolicy(policy: CompiledPolicy): void {
    const previous = this.#policies.get(policy.key)
    for (const peer of peersOf(policy)) this.#use(peer)
    for (const service of servicesOf(policy)) this.#useService(service, 1)
    for (const peer of previous === undefined ? [] : peersOf(previous)) this.#release(peer)
    for (const service of previous === undefined ? [] : servicesOf(previous)) this.#useService(service, -1)
    this.#policies.set(policy.key, policy)
    this.#putPolicy(policy)
    this.#stir(policy.namespace)
    if (this.#policies.size === 1) this.#putBase()
  }

  deletePolicy(key: string): void {
    const policy = this.#policies.get(key)
    if (policy === undefined) return
    this.#policies.delete(key)
    this.#stir(policy.namespace)
    for (const direction of directions) this.#table.remove(`policy ${direction} ${key}`)
    for (const peer of peersOf(policy)) this.#release(peer)
    for (const service of servicesOf(policy)) this.#useService(service, -1)
    if (this.#policies.size === 0) this.#putBase()
  }

  /** By `namespace/name`. */
  setService(service: string, endpoints: readonly ServiceEndpoint[]): void {
    if (endpoints.length === 0) this.#endpoints.delete(service)
    else this.#endpoints.set(service, endpoints)
    if (this.#serviceUses.has(service)) this.#putService(service)
  }

  setNamespace(name: string, labels: Labels): void {
    const isSame = JSON.stringify(this.#namespaces.get(name)) === JSON.stringify(labels)
    this.#namespaces.set(name, labels)
    // Whom policies of the whole cluster apply to may depend on it, too.
    if (!isSame) for (const key of this.#podsByNamespace.get(name) ?? []) this.#place(key)
  }

  deleteNamespace(name: string): void {
    this.#namespaces.delete(name)
  }

  setPod(pod: PolicyPod): void {
    const previous = this.#pods.get(pod.key)
    if (previous !== undefined && JSON.stringify(previous) === JSON.stringify(pod)) return
    this.#pods.set(pod.key, pod)
    const known = this.#podsByNamespace.get(pod.namespace)
    if (known === undefined) this.#podsByNamespace.set(pod.namespace, new Set([pod.key]))
    else known.add(pod.key)
    this.#place(pod.key)
    this.#hasStirredPorts ||= pod.namedPorts.length > 0 || (previous?.namedPorts.length ?? 0) > 0
  }

  deletePod(key: string): void {
    const pod = this.#pods.get(key)
    if (pod === undefined) return
    this.#pods.delete(key)
    this.#podsByNamespace.get(pod.namespace)?.delete(key)
    this.#place(key)
    this.#hasStirredPorts ||= pod.namedPorts.length > 0
  }

  /** The table with everything that was told. */
  updated(): NftTable {
    for (const key of this.#stirred) this.#isolate(key)
    this.#stirred.clear()
    if (this.#hasStirredPorts) {
      // Policies that name ports depend on the pods that have them.
      for (const policy of this.#policies.values()) {
        if (directions.some((direction) => usesNamedPorts(policy, direction))) this.#putPolicy(policy)
      }
      this.#hasStirredPorts = false
    }
    return this.#table
  }

  /** What nft has not taken since this was last asked. */
  takeLeftOut(): LeftOut[] {
    return this.#table.takeLeftOut()
  }

  /** Membership of a pod in all peers, and its own isolation. */
  #place(key: string): void {
    const pod = this.#pods.get(key)
    for (const [peerKey, { peer, members }] of this.#peers) {
      const isMember = pod !== undefined && peerSelects(peer, pod, this.#labelsOf)
      const was = members.has(key)
      if (isMember) members.add(key)
      else members.delete(key)
      // Its addresses may have changed though it stays.
      if (isMember || was) this.#putMember(peerKey, key, isMember ? pod : undefined)
    }
    this.#stirred.add(key)
  }

  readonly #labelsOf = (namespace: string): Labels => this.#namespaces.get(namespace) ?? {}

  #use(peer: PodPeer): void {
    const known = this.#peers.get(peer.key)
    if (known !== undefined) {
      known.uses++
      return
    }
    const members = new Set<string>()
    this.#peers.set(peer.key, { peer, uses: 1, members })
    const fragment = emptyFragment()
    for (const version of versions) {
      fragment.sets.set(peerSet(peer.key, version), `type ${version === 4 ? 'ipv4_addr' : 'ipv6_addr'};`)
    }
    this.#table.put(`peers ${peer.key}`, fragment)
    for (const [key, pod] of this.#pods) {
      if (!peerSelects(peer, pod, this.#labelsOf)) continue
      members.add(key)
      this.#putMember(peer.key, key, pod)
    }
  }

  #release(peer: PodPeer): void {
    const known = this.#peers.get(peer.key)
    if (known === undefined || --known.uses > 0) return
    this.#peers.delete(peer.key)
    for (const key of known.members) this.#table.remove(`member ${peer.key} ${key}`)
    this.#table.remove(`peers ${peer.key}`)
  }

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

  #putMember(peerKey: string, podKey: string, pod: PolicyPod | undefined): void {
    const owner = `member ${peerKey} ${podKey}`
    if (pod === undefined) {
      this.#table.remove(owner)
      return
    }
    const fragment = emptyFragment()
    for (const ip of pod.ips) addElement(fragment, peerSet(peerKey, versionOf(ip)), ip)
    this.#table.put(owner, fragment)
  }

  #putPolicy(policy: CompiledPolicy): void {
    for (const direction of directions) {
      const owner = `policy ${direction} ${policy.key}`
      if (policy[direction] === undefined) {
        this.#table.remove(owner)
        continue
      }
      const allows = direction === 'ingress' ? 'accept' : 'goto ingress'
      this.#table.put(owner, policyRules({ policy, direction, allows, pods: () => this.#podsOf(policy, direction) }))
    }
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
    const keys = namespace === undefined ? this.#pods.keys() : (this.#podsByNamespace.get(namespace) ?? [])
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
        const policies = [...this.#policies.values()].filter(
          (policy) => policy[direction] !== undefined && appliesTo(policy, pod, this.#labelsOf),
        )
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
