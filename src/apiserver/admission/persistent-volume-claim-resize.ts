import { PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import { storageClassOf } from '#api/core/v1/quota/storage-class-of.ts'
import type { V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { StorageClass } from '#api/storage/v1/kinds.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'

/** A claim grows only if it is bound and its storage class says that volumes can grow. */
export function persistentVolumeClaimResize({ cluster }: AdmissionContext): AdmissionPlugin {
  const mayGrow = (next: V1PersistentVolumeClaim, prev: V1PersistentVolumeClaim): boolean => {
    const name = storageClassOf(next)
    if (name === '' || name !== storageClassOf(prev)) return false
    const storageClass = cluster.get(StorageClass, name)
    return storageClass?.allowVolumeExpansion === true
  }
  return {
    name: 'PersistentVolumeClaimResize',
    operations: ['UPDATE'],
    resources: ['persistentvolumeclaims'],
    validate(request) {
      const [next, prev] = [objectOf(PersistentVolumeClaim, request), oldObjectOf(PersistentVolumeClaim, request)]
      if (sizeOf(next).compare(sizeOf(prev)) <= 0) return
      if (prev.status?.phase !== 'Bound') throw forbid(request, 'Only bound persistent volume claims can be expanded')
      if (mayGrow(next, prev)) return
      throw forbid(
        request,
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      )
    },
  }
}

const sizeOf = ({ spec }: V1PersistentVolumeClaim) => parseQuantity(spec?.resources?.requests?.['storage'] ?? '0')
