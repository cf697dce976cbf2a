/** Who owns whom, over all kinds. */

import type { Kind } from '#api/kind.ts'
import type { V1OwnerReference } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { deletesDependentsFirst, orphansDependents } from '#controllers/garbage-collector/finalizers.ts'

export type GraphNode = {
  readonly uid: string
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  owners: readonly V1OwnerReference[]
  isBeingDeleted: boolean
  /** It waits for its dependents to be gone. */
  isDeletingDependents: boolean
  /** It waits for its dependents to be let go. */
  isOrphaning: boolean
}

/** What a change of the graph makes necessary to look at. */
export type GraphListener = { toDelete(uid: string): void; toOrphan(uid: string): void }

export class Graph {
  readonly #nodes = new Map<string, GraphNode>()
  readonly #dependents = new Map<string, Set<string>>()
  readonly #listener: GraphListener

  constructor(listener: GraphListener) {
    this.#listener = listener
  }

  get size(): number {
    return this.#nodes.size
  }
  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid)
  }
  dependentsOf(uid: string): GraphNode[] {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((dependent) => this.#nodes.get(dependent) ?? [])
  }

  observe(kind: Kind, object: KubernetesObject): void {
    const { metadata = {} } = object
    const uid = metadata.uid ?? ''
    const isBeingDeleted = metadata.deletionTimestamp !== undefined
    const known = this.#nodes.get(uid)
    const node: GraphNode = known ?? {
      uid,
      kind,
      namespace: metadata.namespace ?? '',
      name: metadata.name ?? '',
      owners: [],
      isBeingDeleted: false,
      isDeletingDependents: false,
      isOrphaning: false,
    }
    if (known === undefined) this.#nodes.set(uid, node)
    this.#setOwners(node, metadata.ownerReferences ?? [])
    node.isBeingDeleted = isBeingDeleted
    const isOrphaning = isBeingDeleted && orphansDependents(object)
    if (isOrphaning && !node.isOrphaning) this.#listener.toOrphan(uid)
    node.isOrphaning = isOrphaning
    const isDeletingDependents = isBeingDeleted && deletesDependentsFirst(object)
    if (isDeletingDependents && !node.isDeletingDependents) {
      node.isDeletingDependents = true
      for (const dependent of this.#dependents.get(uid) ?? []) this.#listener.toDelete(dependent)
      this.#listener.toDelete(uid)
    }
    node.isDeletingDependents = isDeletingDependents
  }

  remove(uid: string): void {
    const node = this.#nodes.get(uid)
    if (node === undefined) return
    this.#nodes.delete(uid)
    for (const { uid: owner } of node.owners) {
      this.#unlink(owner, uid)
      // An owner that waits for its dependents waits for one less.
      if (this.#nodes.get(owner)?.isDeletingDependents) this.#listener.toDelete(owner)
    }
    for (const dependent of this.#dependents.get(uid) ?? []) this.#listener.toDelete(dependent)
  }

  #setOwners(node: GraphNode, owners: readonly V1OwnerReference[]): void {
    const before = node.owners
    node.owners = owners
    if (isSameTo(before, owners)) return
    const byUid = new Map<string, V1OwnerReference>()
    for (const reference of owners) byUid.getOrInsert(reference.uid, reference)
    const uidsBefore = new Set(before.map(({ uid }) => uid))
    for (const reference of before) {
      const now = byUid.get(reference.uid)
      if (now === undefined) this.#unlink(reference.uid, node.uid)
      const unblocks = reference.blockOwnerDeletion === true && now?.blockOwnerDeletion !== true
      if (unblocks && this.#nodes.get(reference.uid)?.isDeletingDependents) this.#listener.toDelete(reference.uid)
    }
    let looks = false
    for (const { uid } of owners) {
      let dependents = this.#dependents.get(uid)
      if (dependents === undefined) {
        dependents = new Set()
        this.#dependents.set(uid, dependents)
      }
      dependents.add(node.uid)
      if (uidsBefore.has(uid)) continue
      const owner = this.#nodes.get(uid)
      // An owner nobody has seen may not exist, and one that waits must know of its newest dependent.
      if (owner === undefined || owner.isDeletingDependents || (owner.namespace !== '' && owner.namespace !== node.namespace)) looks = true
      if (owner?.isDeletingDependents) this.#listener.toDelete(uid)
    }
    if (looks) this.#listener.toDelete(node.uid)
  }

  #unlink(owner: string, dependent: string): void {
    const dependents = this.#dependents.get(owner)
    dependents?.delete(dependent)
    if (dependents?.size === 0) this.#dependents.delete(owner)
  }
}

/** As far as the graph looks at them. Most changes of an object leave its owners alone. */
function isSameTo(before: readonly V1OwnerReference[], owners: readonly V1OwnerReference[]): boolean {
  return (
    before.length === owners.length &&
    before.every(
      ({ uid, blockOwnerDeletion }, index) => owners[index]?.uid === uid && owners[index].blockOwnerDeletion === blockOwnerDeletion,
    )
  )
}
