import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { each } from '#api/meta/each.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { longName, mustBe, shortName } from '#api/meta/names.ts'
import { putBack } from '#api/meta/put-back.ts'
import { resetObjectMetaForStatus } from '#api/meta/reset-object-meta-for-status.ts'
import { mustBeOneOf } from '#api/meta/union.ts'
import { defineResource } from '#api/resource.ts'
import { PodGroup } from '#api/scheduling/v1alpha2/kinds.gen.ts'
import {
  dropDisabledGroupFields,
  validateGroupClaims,
  validatePreemption,
  validateSchedulingConstraints,
  validateSchedulingPolicy,
} from '#api/scheduling/v1alpha2/pod-group-rules.ts'
import type { V1alpha2PodGroup, V1alpha2PodGroupSpec, V1alpha2PodGroupTemplateReference } from '#api/scheduling/v1alpha2/types.gen.ts'

const maxClaims = 4

const immutableFields = [
  ...['podGroupTemplateRef', 'schedulingPolicy', 'schedulingConstraints', 'resourceClaims', 'disruptionMode'],
  ...['priorityClassName', 'priority'],
] as (keyof V1alpha2PodGroupSpec)[]

export const podGroupResource = defineResource(PodGroup, {
  featureGate: 'GenericWorkload',
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  resetFields: ['status'],

  defaults(podGroup) {
    podGroup.spec ??= {} as V1alpha2PodGroupSpec
    podGroup.spec.disruptionMode ??= 'Pod'
  },
  prepareForCreate(podGroup, context) {
    delete podGroup.status
    dropDisabledGroupFields(podGroup.spec, undefined, context)
  },
  validate({ spec }, check, context) {
    const at = check.at('spec')
    if (spec.podGroupTemplateRef) validateTemplateReference(spec.podGroupTemplateRef, at.at('podGroupTemplateRef'))
    validateSchedulingPolicy(spec.schedulingPolicy, undefined, at.at('schedulingPolicy'))
    if (spec.schedulingConstraints) validateSchedulingConstraints(spec.schedulingConstraints, at.at('schedulingConstraints'))
    validateGroupClaims(spec.resourceClaims, at.at('resourceClaims'))
    validatePreemption(spec, at, context)
  },
  prepareForUpdate(next, prev, context) {
    putBack(next, prev, 'status')
    dropDisabledGroupFields(next.spec, prev.spec, context)
  },
  // Nothing of the spec may change, so that there is nothing else to judge.
  validateUpdate({ spec }, prev, check) {
    for (const field of immutableFields) {
      if (!semanticEqual(spec[field], prev.spec[field])) check.at('spec').at(field).invalid(null, 'field is immutable')
    }
  },

  subresources: {
    status: {
      resetFields: ['metadata', 'spec'],
      prepareForUpdate(next, prev, { isEnabled }) {
        putBack(next, prev, 'spec')
        resetObjectMetaForStatus(next.metadata, prev.metadata)
        if (!isEnabled('DRAWorkloadResourceClaims') && !prev.spec.resourceClaims?.length) delete next.status?.resourceClaimStatuses
      },
      validateUpdate: (next, _prev, check) => validateStatus(next, check.at('status')),
    },
  },

  columns: [
    nameColumn,
    {
      name: 'Policy',
      type: 'string',
      description: { field: 'PodGroupSpec.schedulingPolicy' },
      cell: ({ spec }) => (spec.schedulingPolicy.gang ? 'Gang' : 'Basic'),
    },
    {
      name: 'Workload',
      type: 'string',
      description: 'Name of the referenced Workload object',
      cell: ({ spec }) => spec.podGroupTemplateRef?.workload?.workloadName ?? '<none>',
    },
    { name: 'Status', type: 'string', description: 'Status of the PodGroup', cell: statusCell },
    ageColumn,
  ],
})

function statusCell({ status }: V1alpha2PodGroup): string {
  const condition = (type: string) => status?.conditions?.findLast((each) => each.type === type)
  const disrupted = condition('DisruptionTarget')
  if (disrupted) return disrupted.reason
  const scheduled = condition('PodGroupScheduled')
  if (!scheduled) return 'Pending'
  return scheduled.status === 'True' ? 'Scheduled' : 'Unschedulable'
}

function validateTemplateReference(reference: V1alpha2PodGroupTemplateReference, check: Check): void {
  mustBeOneOf(reference, undefined, ['workload'], check)
  if (!reference.workload) return
  const { workloadName, podGroupTemplateName } = reference.workload
  if (!workloadName) check.at('workload.workloadName').required()
  else mustBe(longName, workloadName, check.at('workload.workloadName'))
  if (!podGroupTemplateName) check.at('workload.podGroupTemplateName').required()
  else mustBe(shortName, podGroupTemplateName, check.at('workload.podGroupTemplateName'))
}

function validateStatus({ spec, status }: V1alpha2PodGroup, check: Check): void {
  validateConditions(status?.conditions, check.at('conditions'))
  const statuses = status?.resourceClaimStatuses ?? []
  const at = check.at('resourceClaimStatuses')
  each(statuses, at, ({ name }, here) => {
    if (!spec.resourceClaims?.some((claim) => claim.name === name)) {
      here.at('name').invalid(name ?? '', 'must match the name of an entry in `spec.resourceClaims`')
    }
  })
  if (statuses.length > maxClaims) {
    at.tooMany(statuses.length, maxClaims)
    return
  }
  for (const [index, entry] of statuses.entries()) {
    if (statuses.findIndex(({ name }) => name === entry.name) < index) at.at(index).duplicate(entry)
  }
  each(statuses, at, ({ resourceClaimName }, here) => {
    if (resourceClaimName !== undefined) mustBe(longName, resourceClaimName, here.at('resourceClaimName'))
  })
}
