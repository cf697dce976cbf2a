import { PodGroup, Workload } from '#api/scheduling/v1alpha2/kinds.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

/** A group that was made from a workload's template needs both to be there. */
export function podGroupWorkloadExists({ cluster }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'PodGroupWorkloadExists',
    operations: ['CREATE'],
    resources: ['podgroups.scheduling.k8s.io'],
    async validate(request) {
      const reference = objectOf(PodGroup, request).spec?.podGroupTemplateRef?.workload
      if (!reference) return
      const { workloadName, podGroupTemplateName } = reference
      const place = [request.namespace, workloadName] as const
      const workload = cluster.get(Workload, ...place) ?? (await cluster.getFresh(Workload, ...place))
      if (workload === undefined) throw forbid(request, `PodGroup rejected: Workload "${workloadName}" not found`)
      if (workload.metadata.deletionTimestamp !== undefined) {
        throw forbid(request, `PodGroup rejected: Workload "${workloadName}" is being deleted`)
      }
      if (workload.spec.podGroupTemplates?.some(({ name }) => name === podGroupTemplateName)) return
      throw forbid(request, `PodGroup rejected: PodGroupTemplate "${podGroupTemplateName}" not found in Workload "${workloadName}"`)
    },
  }
}
