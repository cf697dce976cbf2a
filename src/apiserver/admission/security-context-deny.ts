import { Pod } from '#api/core/v1/kinds.gen.ts'
import { forbidden } from '#api/meta/status-error.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

const ofPods = ['supplementalGroups', 'seLinuxOptions', 'runAsUser', 'fsGroup'] as const
const ofContainers = ['seLinuxOptions', 'runAsUser'] as const

/** As messages write the fields. */
const shown = { supplementalGroups: 'SupplementalGroups', seLinuxOptions: 'SELinuxOptions', runAsUser: 'RunAsUser', fsGroup: 'FSGroup' }

/** Pods may not choose who they run as. Replaced by PodSecurity; for clusters that still name it. */
export function securityContextDeny(): AdmissionPlugin {
  return {
    name: 'SecurityContextDeny',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods'],
    validate(request) {
      const { spec, metadata } = objectOf(Pod, request)
      const refuse = (field: string) => forbidden(request.resource, metadata.name ?? '', `${field} is forbidden`)
      const found = ofPods.find((name) => spec?.securityContext?.[name] !== undefined)
      if (found !== undefined) throw refuse(`pod.Spec.SecurityContext.${shown[found]}`)
      for (const { securityContext } of [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]) {
        const set = ofContainers.find((name) => securityContext?.[name] !== undefined)
        if (set !== undefined) throw refuse(`SecurityContext.${shown[set]}`)
      }
    },
  }
}
