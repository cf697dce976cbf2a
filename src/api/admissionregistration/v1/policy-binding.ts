/** What the bindings of validating and mutating policies have in common. */
import { defaultMatchResources, validateMatchResources } from '#api/admissionregistration/v1/match-resources.ts'
import { paramRefCell, validateParamRef } from '#api/admissionregistration/v1/parameters.ts'
import type { V1MutatingAdmissionPolicyBinding, V1ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import type { Column } from '#api/resource.ts'

type PolicyBinding = V1ValidatingAdmissionPolicyBinding | V1MutatingAdmissionPolicyBinding

export const defaultPolicyBinding = ({ spec }: PolicyBinding): void => defaultMatchResources(spec?.matchResources)

/** `check` stands at the spec. */
export function validatePolicyBinding(check: Check<PolicyBinding['spec']>): void {
  const { policyName, paramRef, matchResources } = check.value ?? {}
  if (!policyName) check.at('policyName').required()
  else mustBe(dns1123Subdomain, check.at('policyName').with(policyName))
  validateParamRef(check.at('paramRef').with(paramRef))
  validateMatchResources(check.at('matchResources').with(matchResources))
}

export const policyBindingColumns: readonly Column<PolicyBinding>[] = [
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
]
