import { addFinalizer } from '#apiserver/admission/add-finalizer.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { defined } from '#base/defined.ts'

/** Volumes, claims and attribute classes cannot go while somebody uses them: a controller takes the finalizer off. */
export function storageObjectInUseProtection({ isEnabled }: AdmissionContext): AdmissionPlugin {
  const finalizers: Record<string, string> = {
    persistentvolumes: 'kubernetes.io/pv-protection',
    persistentvolumeclaims: 'kubernetes.io/pvc-protection',
    ...defined({ volumeattributesclasses: isEnabled('VolumeAttributesClass') ? 'kubernetes.io/vac-protection' : undefined }),
  }
  return {
    name: 'StorageObjectInUseProtection',
    operations: ['CREATE'],
    resources: ['persistentvolumes', 'persistentvolumeclaims', 'volumeattributesclasses.storage.k8s.io'],
    mutate({ object, definition }) {
      const finalizer = finalizers[definition.plural]
      if (finalizer !== undefined) addFinalizer(object, finalizer)
    },
  }
}
