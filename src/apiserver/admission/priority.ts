import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { PriorityClass } from '#api/scheduling/v1/kinds.gen.ts'
import type { V1PriorityClass } from '#api/scheduling/v1/types.gen.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { defined } from '#base/defined.ts'

const group = 'scheduling.k8s.io'

type Priority = Pick<V1PriorityClass, 'preemptionPolicy'> & { name: string; value: number }

const noClass: Priority = { name: '', value: 0, preemptionPolicy: 'PreemptLowerPriority' }

type PodGroup = { spec?: { priorityClassName?: string; priority?: number } }

/** Turns the name of a priority class into the number the scheduler works with; there is one default class at most. */
export function priority({ cluster, isEnabled }: AdmissionContext): AdmissionPlugin {
  const ofRequest = (request: AdmissionRequest, name: string | undefined): Priority => {
    if (!name) return defaultPriority(cluster)
    const found = cluster.get(PriorityClass, name)
    if (found === undefined) throw forbid(request, `no PriorityClass with name ${name} was found`)
    return priorityOf(found)
  }
  return {
    name: 'Priority',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods', `podgroups.${group}`, `priorityclasses.${group}`],
    mutate(request) {
      const { definition, operation, object } = request
      if (definition.plural === 'podgroups' && operation === 'CREATE' && isEnabled('WorkloadAwarePreemption')) {
        const podGroup = object as PodGroup
        podGroup.spec ??= {}
        assignToGroup(request, podGroup.spec, ofRequest(request, podGroup.spec.priorityClassName))
      }
      if (definition.plural !== 'pods') return
      const pod = objectOf(Pod, request)
      pod.spec ??= { containers: [] }
      if (operation === 'UPDATE') keep(pod, oldObjectOf(Pod, request))
      else assign(request, pod, ofRequest(request, pod.spec.priorityClassName))
    },
    validate(request) {
      if (request.definition.plural !== 'priorityclasses') return
      const priorityClass = objectOf(PriorityClass, request)
      if (!priorityClass.globalDefault) return
      const current = defaultClass(cluster)?.metadata?.name
      if (current === undefined || (request.operation === 'UPDATE' && current === priorityClass.metadata?.name)) return
      throw forbid(request, `PriorityClass ${current} is already marked as default. Only one default can exist`)
    },
  }
}

const priorityOf = ({ metadata, value = 0, preemptionPolicy }: V1PriorityClass): Priority => ({
  name: metadata?.name ?? '',
  value,
  ...defined({ preemptionPolicy }),
})

function defaultPriority(cluster: ClusterView): Priority {
  const found = defaultClass(cluster)
  return found === undefined ? noClass : priorityOf(found)
}

/** Two may have been made at the same moment: the lower one counts. */
function defaultClass(cluster: ClusterView): V1PriorityClass | undefined {
  let lowest: V1PriorityClass | undefined
  for (const each of cluster.list(PriorityClass)) {
    if (each.globalDefault && (lowest === undefined || (each.value ?? 0) < (lowest.value ?? 0))) lowest = each
  }
  return lowest
}

function assign(request: AdmissionRequest, { spec }: V1Pod, { name, value, preemptionPolicy }: Priority): void {
  const computed = (what: string | number) => `priority admission controller computed ${what} from the given PriorityClass name`
  if (spec.priority !== undefined && spec.priority !== value) {
    throw forbid(request, `the integer value of priority (${spec.priority}) must not be provided in pod spec; ${computed(value)}`)
  }
  if (name !== '') spec.priorityClassName = name
  spec.priority = value
  if (preemptionPolicy === undefined) return
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
    const given = `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec`
    throw forbid(request, `${given}; ${computed(preemptionPolicy)}`)
  }
  spec.preemptionPolicy = preemptionPolicy
}

function assignToGroup(request: AdmissionRequest, spec: NonNullable<PodGroup['spec']>, { name, value }: Priority): void {
  if (spec.priority !== undefined && spec.priority !== value) {
    const given = `priority set in the pod group (${spec.priority})`
    throw forbid(request, `${given} must match the priority computed (${value}) based on the priority class set in the spec`)
  }
  spec.priority = value
  if (name !== '') spec.priorityClassName = name
}

/** An update that leaves out what was computed does not mean to remove it. */
function keep({ spec }: V1Pod, { spec: before }: V1Pod): void {
  if (spec.priority === undefined && before?.priority !== undefined) spec.priority = before.priority
  if (spec.preemptionPolicy === undefined && before?.preemptionPolicy !== undefined) spec.preemptionPolicy = before.preemptionPolicy
}
