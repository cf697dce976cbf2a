/** Who owns an object, and who controls it. */
import type { V1ObjectMeta, V1OwnerReference } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { apiVersionOf, type GroupVersionKind } from './gvk.ts'

type HasMetadata = { metadata?: V1ObjectMeta }

/** The reference to the one owner that manages the object. */
export function controllerOf(object: HasMetadata): V1OwnerReference | undefined {
  return object.metadata?.ownerReferences?.find((reference) => reference.controller === true)
}

export function isControlledBy(object: HasMetadata, owner: HasMetadata): boolean {
  const uid = controllerOf(object)?.uid
  return uid !== undefined && uid === owner.metadata?.uid
}

export function isOwnedBy(object: HasMetadata, owner: HasMetadata): boolean {
  const uid = owner.metadata?.uid
  return uid !== undefined && (object.metadata?.ownerReferences ?? []).some((reference) => reference.uid === uid)
}

/** The reference a controller gives to what it creates. The kind must be given where objects of caches carry none. */
export function controllerReference(owner: KubernetesObject, kind?: GroupVersionKind): V1OwnerReference {
  return { ...ownerReference(owner, kind), controller: true, blockOwnerDeletion: true }
}

export function ownerReference(owner: KubernetesObject, kind?: GroupVersionKind): V1OwnerReference {
  return {
    apiVersion: kind === undefined ? (owner.apiVersion ?? '') : apiVersionOf(kind),
    kind: kind?.kind ?? owner.kind ?? '',
    name: owner.metadata?.name ?? '',
    uid: owner.metadata?.uid ?? '',
  }
}
