/** Sets of the addresses of those pods that rules mean: one for each distinct choice of them, shared by all rules that mean the same. */
import type { Steps } from '#base/steps.ts'
import type { PodPeer } from '#network/policy/compiled-policy.ts'
import { peerSelects } from '#network/policy/evaluate.ts'
import { addressType, peerSet, versionOf, versions } from '#network/policy/policy-names.ts'
import type { PolicyPod } from '#network/policy/policy-pod.ts'
import { addElement, emptyFragment } from '#wire/nftables/nft-fragment.ts'
import type { NftTable } from '#wire/nftables/nft-table.ts'

export type KnownPods = {
  labelsOf(namespace: string): Readonly<Record<string, string>>
  /** Of a namespace; undefined: of all of them. */
  podsIn(namespace: string | undefined): Iterable<PolicyPod>
}

type Entry = { peer: PodPeer; uses: number; members: Set<string> }

export class PeerSets {
  readonly #table: NftTable
  readonly #known: KnownPods
  /** By the namespace that alone can be meant, and by key. */
  readonly #entries = new Map<string | undefined, Map<string, Entry>>()

  constructor(table: NftTable, known: KnownPods) {
    this.#table = table
    this.#known = known
  }

  /** One rule more means them. */
  *use(peer: PodPeer): Steps<void> {
    let entries = this.#entries.get(peer.namespace)
    if (entries === undefined) {
      entries = new Map()
      this.#entries.set(peer.namespace, entries)
    }
    const known = entries.get(peer.key)
    if (known !== undefined) {
      known.uses++
      return
    }
    const members = new Set<string>()
    entries.set(peer.key, { peer, uses: 1, members })
    const fragment = emptyFragment()
    for (const version of versions) fragment.sets.set(peerSet(peer.key, version), `type ${addressType(version)};`)
    this.#table.put(`peers ${peer.key}`, fragment)
    for (const pod of this.#known.podsIn(peer.namespace)) {
      yield
      if (!peerSelects(peer, pod, this.#known.labelsOf)) continue
      members.add(pod.key)
      this.#putMember(peer.key, pod.key, pod)
    }
  }

  /** One rule less. */
  *release(peer: PodPeer): Steps<void> {
    const entries = this.#entries.get(peer.namespace)
    const known = entries?.get(peer.key)
    if (entries === undefined || known === undefined || --known.uses > 0) return
    entries.delete(peer.key)
    if (entries.size === 0) this.#entries.delete(peer.namespace)
    for (const key of known.members) {
      yield
      this.#table.remove(`member ${peer.key} ${key}`)
    }
    this.#table.remove(`peers ${peer.key}`)
  }

  /** A pod as it is now; undefined where it is gone. */
  *place(key: string, namespace: string, pod: PolicyPod | undefined): Steps<void> {
    for (const place of [namespace, undefined]) {
      for (const [peerKey, { peer, members }] of this.#entries.get(place) ?? []) {
        yield
        const isMember = pod !== undefined && peerSelects(peer, pod, this.#known.labelsOf)
        const was = members.has(key)
        if (isMember) members.add(key)
        else members.delete(key)
        // Its addresses may have changed though it stays.
        if (isMember || was) this.#putMember(peerKey, key, isMember ? pod : undefined)
      }
    }
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
}
