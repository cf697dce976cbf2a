import { ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/kinds.gen.ts'
import { defaultMatchResources, validateMatchResources } from '#api/admissionregistration/v1/match-resources.ts'
import { paramRefCell, validateParamRef } from '#api/admissionregistration/v1/parameters.ts'
import { staticSuffixWarnings, validateStaticSuffix } from '#api/admissionregistration/v1/static-suffix.ts'
import type { V1ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { dns1123Subdomain, mustBe, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'

/** Puts a policy into force: for which objects, with which parameters, and what happens to a request that fails it. */
export const validatingAdmissionPolicyBindingResource = defineResource(ValidatingAdmissionPolicyBinding, {
  finalizers: 'any',
  generation: 'spec',
  revalidatesMetadata: false,

  defaults: ({ spec }) => defaultMatchResources(spec?.matchResources),
  validate(_binding, check, context) {
    validateSpec(check.at('spec'))
    validateStaticSuffix(check, context)
  },
  validateUpdate(_next, _prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain, finalizers: 'any' })
    validateSpec(check.at('spec'))
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

function validateSpec(check: Check<V1ValidatingAdmissionPolicyBinding['spec']>): void {
  const spec = check.value
  const { policyName, paramRef, matchResources, validationActions } = spec ?? {}
  if (!policyName) check.at('policyName').required()
  else mustBe(dns1123Subdomain, check.at('policyName').with(policyName))
  validateParamRef(check.at('paramRef').with(paramRef))
  validateMatchResources(check.at('matchResources').with(matchResources))
  validateActions(check.at('validationActions').with(validationActions ?? []))
}

const actions = ['Audit', 'Deny', 'Warn']

function validateActions(check: Check<readonly string[]>): void {
  const seen = new Set<string>()
  check.each((item) => {
    const action = item.value
    if (!actions.includes(action)) item.notSupported(actions)
    if (seen.has(action)) item.duplicate()
    seen.add(action)
  })
  if (seen.has('Deny') && seen.has('Warn')) {
    check.invalid(
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    )
  }
  if (seen.size === 0) check.required('at least one validation action is required')
}
