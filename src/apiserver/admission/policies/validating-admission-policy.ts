import type { V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/types.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { followPolicies } from '#apiserver/admission/policies/bound-policies.ts'
import { isExempt } from '#apiserver/admission/policies/request-match.ts'

/** Expressions of the cluster's own policies say what may be written. */
export function validatingAdmissionPolicy({ cluster, authorizer }: AdmissionContext): AdmissionPlugin {
  const policies = followPolicies<V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding>(cluster, 'validating')
  return {
    name: 'ValidatingAdmissionPolicy',
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    validate(request) {
      if (policies().length === 0 || isExempt(request.definition)) return undefined
      return import('#apiserver/admission/policies/judge-request.ts').then(({ judgeRequest }) =>
        judgeRequest(policies(), request, { cluster, authorizer }),
      )
    },
  }
}
