import { createRequire } from 'node:module'
import { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/kinds.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { followPolicies } from '#apiserver/admission/policies/bound-policies.ts'
import { PolicyMetrics } from '#apiserver/admission/policies/policy-metrics.ts'
import { isExempt } from '#apiserver/admission/policies/request-match.ts'

const load = createRequire(import.meta.url)
/** Loaded with the first policy, and at once: what is being imported cannot be required elsewhere. */
const engine = () =>
  load('#apiserver/admission/policies/validate-request.ts') as typeof import('#apiserver/admission/policies/validate-request.ts')

/** Expressions of the cluster's own policies say what may be written. */
export function validatingAdmissionPolicy({ cluster, authorizer, clock, metrics }: AdmissionContext): AdmissionPlugin {
  const policies = followPolicies(cluster, { policy: ValidatingAdmissionPolicy, binding: ValidatingAdmissionPolicyBinding })
  const checks = metrics && new PolicyMetrics(metrics, 'validating')
  return {
    name: 'ValidatingAdmissionPolicy',
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    validate(request) {
      if (policies().length === 0 || isExempt(request.definition)) return undefined
      return engine().validateRequest(policies(), request, { cluster, authorizer, clock, checks })
    },
  }
}
