/** Who belongs to whom: takes in what matches and has no controller, lets go of what matches no more. */

import type { Kind } from '#api/kind.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import type { LabelSelector } from '#api/meta/selector.ts'
import { ignoreNotFound, isInvalid, isNotFound } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { defined } from '#base/defined.ts'
import type { Client } from '#client/client.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

export type Claim<Owner extends KubernetesObject, Child extends KubernetesObject> = {
  ownerKind: Kind<Owner>
  owner: Owner
  childKind: Kind<Child>
  selector: LabelSelector
  /** Further conditions on those taken in. */
  adopts?(child: Child): boolean
  /** Finalizers that those taken in get. */
  finalizers?: readonly string[]
}

/** The children of the owner, after those that are not its own any more were released and its orphans adopted. */
export async function claimChildren<Owner extends KubernetesObject, Child extends KubernetesObject>(
  { cache, client }: { cache: Cache; client: Client },
  claim: Claim<Owner, Child>,
): Promise<Child[]> {
  const { owner, childKind, selector, adopts } = claim
  const namespace = owner.metadata?.namespace ?? ''
  const children: Child[] = []
  for (const child of cache.controlledBy(childKind, owner)) {
    if (selector.matches(child.metadata?.labels ?? {})) children.push(child)
    else if (!isDeleting(owner)) await release(client, claim, child)
  }
  if (isDeleting(owner)) return children
  let mayAdopt: boolean | undefined
  for (const orphan of cache.orphans(childKind, namespace)) {
    if (isDeleting(orphan) || !selector.matches(orphan.metadata?.labels ?? {}) || adopts?.(orphan) === false) continue
    // The cache may not know yet that the owner is being deleted, and was replaced by another of the same name.
    mayAdopt ??= await isAlive(client, claim)
    if (!mayAdopt) break
    const adopted = await adopt(client, claim, orphan)
    if (adopted !== undefined) children.push(adopted)
  }
  return children
}

async function isAlive<Owner extends KubernetesObject>(
  client: Client,
  { ownerKind, owner }: Pick<Claim<Owner, KubernetesObject>, 'ownerKind' | 'owner'>,
): Promise<boolean> {
  const { namespace = '', name = '', uid } = owner.metadata ?? {}
  const fresh = await client.get(ownerKind, namespace, name).catch(ignoreNotFound)
  return fresh !== undefined && fresh.metadata?.uid === uid && !isDeleting(fresh)
}

async function adopt<Owner extends KubernetesObject, Child extends KubernetesObject>(
  client: Client,
  { ownerKind, owner, childKind, finalizers }: Claim<Owner, Child>,
  { metadata }: Child,
): Promise<Child | undefined> {
  const reference = {
    apiVersion: apiVersionOf(ownerKind),
    kind: ownerKind.kind,
    name: owner.metadata?.name,
    uid: owner.metadata?.uid,
    controller: true,
    blockOwnerDeletion: true,
  }
  const patch = { metadata: { ownerReferences: [reference], uid: metadata?.uid, ...defined({ finalizers }) } }
  return client.patch(childKind, metadata ?? {}, patch).catch(ignoreNotFound)
}

async function release<Owner extends KubernetesObject, Child extends KubernetesObject>(
  client: Client,
  { owner, childKind, finalizers }: Claim<Owner, Child>,
  { metadata }: Child,
): Promise<void> {
  const patch = {
    metadata: {
      uid: metadata?.uid,
      ownerReferences: [{ $patch: 'delete', uid: owner.metadata?.uid }],
      ...defined({ '$deleteFromPrimitiveList/finalizers': finalizers }),
    },
  }
  await client.patch(childKind, metadata ?? {}, patch).catch((error: unknown) => {
    // Invalid: the uid is another one, so this object is not the one we knew.
    if (!isNotFound(error) && !isInvalid(error)) throw error
  })
}

/** The keys of those that might want to take in an object without a controller. */
export function* possibleOwners<Owner extends KubernetesObject>(
  cache: Cache,
  ownerKind: Kind<Owner>,
  object: KubernetesObject,
  selects: (owner: Owner, labels: Readonly<Record<string, string>>) => boolean,
): Generator<string> {
  const { namespace = '', labels } = object.metadata ?? {}
  if (controllerOf(object) !== undefined || labels === undefined || Object.keys(labels).length === 0) return
  for (const owner of cache.list(ownerKind, namespace)) if (selects(owner, labels)) yield `${namespace}/${owner.metadata?.name}`
}
