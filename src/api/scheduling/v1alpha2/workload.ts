import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { eachRepeated } from '#api/meta/duplicates.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { longName, mustBe, pathSegmentName, shortName } from '#api/meta/names.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'
import { Workload } from '#api/scheduling/v1alpha2/kinds.gen.ts'
import {
  dropDisabledGroupFields,
  validateGroupClaims,
  validatePreemption,
  validateSchedulingConstraints,
  validateSchedulingPolicy,
} from '#api/scheduling/v1alpha2/pod-group-rules.ts'
import type {
  V1alpha2PodGroupTemplate,
  V1alpha2TypedLocalObjectReference,
  V1alpha2Workload,
  V1alpha2WorkloadSpec,
} from '#api/scheduling/v1alpha2/types.gen.ts'

const sameSpec = equalityOf(Workload).at('spec')

const maxTemplates = 8

export const workloadResource = defineResource(Workload, {
  featureGate: 'GenericWorkload',
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

  defaults(workload) {
    workload.spec ??= {} as V1alpha2WorkloadSpec
  },
  prepareForCreate: (workload, context) => dropDisabledFields(workload, undefined, context),
  validate({ spec }, check, context) {
    if (spec.controllerRef) validateController(check.at('spec').at('controllerRef').present)
    validateTemplates(check.at('spec').at('podGroupTemplates'), context)
  },
  prepareForUpdate: dropDisabledFields,
  // Nothing of the spec may change, so that there is nothing else to validate.
  validateUpdate({ spec }, prev, check) {
    for (const field of ['controllerRef', 'podGroupTemplates'] as const) {
      if (!sameSpec.at(field)(spec[field], prev.spec[field])) check.at('spec').at(field).invalid('field is immutable', null)
    }
  },

  columns: [nameColumn, ageColumn],
})

function dropDisabledFields(next: V1alpha2Workload, prev: V1alpha2Workload | undefined, context: RuleContext): void {
  for (const [index, template] of (next.spec.podGroupTemplates ?? []).entries()) {
    dropDisabledGroupFields(template, prev?.spec.podGroupTemplates?.[index], context)
  }
}

function validateController(check: Check<V1alpha2TypedLocalObjectReference>): void {
  const { apiGroup, kind, name } = check.value
  if (apiGroup) mustBe(longName, check.at('apiGroup').present)
  if (!kind) check.at('kind').required()
  else mustBe(pathSegmentName, check.at('kind'))
  if (!name) check.at('name').required()
  else mustBe(pathSegmentName, check.at('name'))
}

function validateTemplates(check: Check<readonly V1alpha2PodGroupTemplate[] | undefined>, context: RuleContext): void {
  const templates = check.value
  if (!templates?.length) {
    check.required()
    return
  }
  if (templates.length > maxTemplates) {
    check.tooMany(templates.length, maxTemplates)
    return
  }
  eachRepeated(check, ({ name }) => name)
  check.each((at) => {
    const template = at.value
    if (!template.name) at.at('name').required()
    else mustBe(shortName, at.at('name'))
    validateSchedulingPolicy(at.at('schedulingPolicy'), undefined)
    if (template.schedulingConstraints) validateSchedulingConstraints(at.at('schedulingConstraints').present)
    validateGroupClaims(at.at('resourceClaims'))
    validatePreemption(at, context)
  })
}
