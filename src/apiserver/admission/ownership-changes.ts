import { semanticEqual } from '#api/meta/equality.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'

/** Whether an update touches no more than owners and finalizers, as garbage collection does. */
export function changesOwnershipOnly({ operation, object, oldObject }: AdmissionRequest): boolean {
  return operation === 'UPDATE' && semanticEqual(withoutOwnership(object), withoutOwnership(oldObject))
}

function withoutOwnership(object: KubernetesObject | undefined): unknown {
  const { ownerReferences, finalizers, managedFields, resourceVersion, ...metadata } = object?.metadata ?? {}
  return { ...object, metadata }
}
