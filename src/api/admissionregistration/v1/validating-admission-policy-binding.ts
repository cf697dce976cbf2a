import { ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/kinds.gen.ts'
import { defaultMatchResources, validateMatchResources } from '#api/admissionregistration/v1/match-resources.ts'
import { paramRefCell, validateParamRef } from '#api/admissionregistration/v1/parameters.ts'
import { staticSuffixWarnings, validateStaticSuffix } from '#api/admissionregistration/v1/static-suffix.ts'
import type { V1ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { each } from '#api/meta/each.ts'
import { dns1123Subdomain, mustBe, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'

/** Puts a policy into force: for which objects, with which parameters, and what happens to a request that fails it. */
export const validatingAdmissionPolicyBindingResource = defineResource(ValidatingAdmissionPolicyBinding, {
  finalizers: 'any',
  generation: 'spec',
  rejudgesMetadata: false,

  defaults: ({ spec }) => defaultMatchResources(spec?.matchResources),
  validate(binding, check, context) {
    validateSpec(binding, check.at('spec'))
    validateStaticSuffix(binding, check, context)
  },
  validateUpdate(next, _prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: nameIsDns1123Subdomain, finalizers: 'any' }, check.at('metadata'))
    validateSpec(next, check.at('spec'))
  },
  warningsOnCreate: staticSuffixWarnings,
  warningsOnUpdate: staticSuffixWarnings,

  columns: [
    nameColumn,
    {
      name: 'PolicyName',
      type: 'string',
      description: 'PolicyName indicates the policy definition which the policy binding binded to',
      cell: ({ spec }) => spec?.policyName ?? '',
    },
    {
      name: 'ParamRef',
      type: 'string',
      description: 'ParamRef indicates the param resource which sets the configuration param',
      cell: ({ spec }) => paramRefCell(spec?.paramRef),
    },
    ageColumn,
  ],
})

function validateSpec({ spec }: V1ValidatingAdmissionPolicyBinding, check: Check): void {
  const { policyName, paramRef, matchResources, validationActions } = spec ?? {}
  if (!policyName) check.at('policyName').required()
  else mustBe(dns1123Subdomain, policyName, check.at('policyName'))
  validateParamRef(paramRef, check.at('paramRef'))
  validateMatchResources(matchResources, check.at('matchResources'))
  validateActions(validationActions ?? [], check.at('validationActions'))
}

const actions = ['Audit', 'Deny', 'Warn']

function validateActions(validationActions: readonly string[], check: Check): void {
  const seen = new Set<string>()
  each(validationActions, check, (action, item) => {
    if (!actions.includes(action)) item.notSupported(action, actions)
    if (seen.has(action)) item.duplicate(action)
    seen.add(action)
  })
  if (seen.has('Deny') && seen.has('Warn')) {
    check.invalid(
      validationActions,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    )
  }
  if (seen.size === 0) check.required('at least one validation action is required')
}
