import { equalityOf } from '#api/meta/equality.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'

/** Whether an update touches no more than owners and finalizers, as garbage collection does. */
export function changesOwnershipOnly({ operation, object, oldObject, definition }: AdmissionRequest): boolean {
  return operation === 'UPDATE' && equalityOf(definition)(withoutOwnership(object), withoutOwnership(oldObject))
}

function withoutOwnership(object: KubernetesObject | undefined): KubernetesObject {
  const { ownerReferences, finalizers, managedFields, resourceVersion, ...metadata } = object?.metadata ?? {}
  return { ...object, metadata }
}
