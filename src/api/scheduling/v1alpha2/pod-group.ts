import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { eachRepeated } from '#api/meta/duplicates.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { longName, mustBe, shortName } from '#api/meta/names.ts'
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
import type {
  V1alpha2PodGroup,
  V1alpha2PodGroupSpec,
  V1alpha2PodGroupStatus,
  V1alpha2PodGroupTemplateReference,
} from '#api/scheduling/v1alpha2/types.gen.ts'

const sameSpec = equalityOf(PodGroup).at('spec')

const maxClaims = 4

const immutableFields = [
  ...['podGroupTemplateRef', 'schedulingPolicy', 'schedulingConstraints', 'resourceClaims', 'disruptionMode'],
  ...['priorityClassName', 'priority'],
] as (keyof V1alpha2PodGroupSpec)[]

export const podGroupResource = defineResource(PodGroup, {
  featureGate: 'GenericWorkload',
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

  defaults(podGroup) {
    podGroup.spec ??= {} as V1alpha2PodGroupSpec
    podGroup.spec.disruptionMode ??= 'Pod'
  },
  prepareForCreate(podGroup, context) {
    dropDisabledGroupFields(podGroup.spec, undefined, context)
  },
  validate({ spec }, check, context) {
    const at = check.at('spec')
    if (spec.podGroupTemplateRef) validateTemplateReference(at.at('podGroupTemplateRef').present)
    validateSchedulingPolicy(at.at('schedulingPolicy'), undefined)
    if (spec.schedulingConstraints) validateSchedulingConstraints(at.at('schedulingConstraints').present)
    validateGroupClaims(at.at('resourceClaims'))
    validatePreemption(at, context)
  },
  prepareForUpdate(next, prev, context) {
    dropDisabledGroupFields(next.spec, prev.spec, context)
  },
  // Nothing of the spec may change, so that there is nothing else to validate.
  validateUpdate({ spec }, prev, check) {
    for (const field of immutableFields) {
      if (!sameSpec.at(field)(spec[field], prev.spec[field])) check.at('spec').at(field).invalid('field is immutable', null)
    }
  },

  subresources: {
    status: {
      keepsMetadata: 'all',
      prepareForUpdate(next, prev, { isEnabled }) {
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

function validateTemplateReference(check: Check<V1alpha2PodGroupTemplateReference>): void {
  const reference = check.value
  mustBeOneOf(check.with(reference), undefined, ['workload'])
  if (!reference.workload) return
  const { workloadName, podGroupTemplateName } = reference.workload
  if (!workloadName) check.at('workload').at('workloadName').required()
  else mustBe(longName, check.at('workload').at('workloadName').present)
  if (!podGroupTemplateName) check.at('workload').at('podGroupTemplateName').required()
  else mustBe(shortName, check.at('workload').at('podGroupTemplateName').present)
}

function validateStatus({ spec, status }: V1alpha2PodGroup, check: Check<V1alpha2PodGroupStatus | undefined>): void {
  validateConditions(check.at('conditions').with(status?.conditions))
  const statuses = status?.resourceClaimStatuses ?? []
  const at = check.at('resourceClaimStatuses')
  at.with(statuses).each((here) => {
    const { name } = here.value
    if (!spec.resourceClaims?.some((claim) => claim.name === name)) {
      here.at('name').or('').invalid('must match the name of an entry in `spec.resourceClaims`')
    }
  })
  if (statuses.length > maxClaims) {
    at.tooMany(statuses.length, maxClaims)
    return
  }
  eachRepeated(at.with(statuses), ({ name }) => name)
  at.with(statuses).each((here) => {
    const { resourceClaimName } = here.value
    if (resourceClaimName !== undefined) mustBe(longName, here.at('resourceClaimName').present)
  })
}
