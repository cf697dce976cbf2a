import { addFinalizer } from '#apiserver/admission/add-finalizer.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'

/** A group of pods cannot go before its pods: a controller takes the finalizer off. */
export function podGroupProtection(): AdmissionPlugin {
  return {
    name: 'PodGroupProtection',
    operations: ['CREATE'],
    resources: ['podgroups.scheduling.k8s.io'],
    mutate: ({ object }) => addFinalizer(object, 'scheduling.k8s.io/podgroup-protection'),
  }
}
