import { PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import { storageClassAnnotation } from '#api/core/v1/persistent-volume-claim/storage-class-annotation.ts'
import { newestDefault } from '#api/meta/newest-default.ts'
import { defaultStorageClassAnnotations } from '#api/storage/v1/default-storage-class.ts'
import { StorageClass } from '#api/storage/v1/kinds.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

/** A claim that names no storage class gets the default one. */
export function defaultStorageClass({ cluster }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'DefaultStorageClass',
    operations: ['CREATE'],
    resources: ['persistentvolumeclaims'],
    mutate(request) {
      const claim = objectOf(PersistentVolumeClaim, request)
      if (claim.metadata?.annotations?.[storageClassAnnotation] !== undefined || claim.spec?.storageClassName !== undefined) return
      const name = newestDefault(cluster.list(StorageClass), defaultStorageClassAnnotations)
      if (name !== undefined) claim.spec = { ...claim.spec, storageClassName: name }
    },
  }
}
