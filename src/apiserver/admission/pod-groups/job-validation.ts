import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job } from '#api/batch/v1/types.gen.ts'
import { isControlledBy } from '#api/meta/owner-references.ts'
import { PodGroup } from '#api/scheduling/v1alpha2/kinds.gen.ts'
import type { V1alpha2PodGroup } from '#api/scheduling/v1alpha2/types.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'

/** A job whose pods are scheduled all or none keeps their number. */
export function jobValidation({ cluster }: AdmissionContext): AdmissionPlugin {
  const groupsOf = (job: V1Job): V1alpha2PodGroup[] => {
    const namespace = job.metadata?.namespace ?? ''
    const name = job.spec?.template?.spec?.schedulingGroup?.podGroupName
    const named = name === undefined ? undefined : cluster.get(PodGroup, namespace, name)
    if (name !== undefined) return named === undefined ? [] : [named]
    return cluster.list(PodGroup, namespace).filter((each) => isControlledBy(each, job))
  }
  return {
    name: 'JobValidation',
    operations: ['UPDATE'],
    resources: ['jobs.batch'],
    validate(request) {
      const [next, prev] = [objectOf(Job, request), oldObjectOf(Job, request)]
      if (next.spec?.parallelism === prev.spec?.parallelism) return
      const gang = groupsOf(prev).find(({ spec }) => spec.schedulingPolicy?.gang !== undefined)
      if (gang === undefined) return
      throw forbid(request, `cannot change parallelism for a Job referencing gang-scheduled PodGroup "${gang.metadata.name}"`)
    },
  }
}
