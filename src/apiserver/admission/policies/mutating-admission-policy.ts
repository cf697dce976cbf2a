import { createRequire } from 'node:module'
import { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/kinds.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { followPolicies } from '#apiserver/admission/policies/bound-policies.ts'
import { PolicyMetrics } from '#apiserver/admission/policies/policy-metrics.ts'
import { isExempt } from '#apiserver/admission/policies/request-match.ts'

const load = createRequire(import.meta.url)
/** Loaded with the first policy, and at once: what is being imported cannot be required elsewhere. */
const engine = () =>
  load('#apiserver/admission/policies/mutate-request.ts') as typeof import('#apiserver/admission/policies/mutate-request.ts')

/** Expressions of the cluster's own policies say how what is written is changed. */
export function mutatingAdmissionPolicy({ cluster, authorizer, clock, metrics }: AdmissionContext): AdmissionPlugin {
  const policies = followPolicies(cluster, { policy: MutatingAdmissionPolicy, binding: MutatingAdmissionPolicyBinding })
  const checks = metrics && new PolicyMetrics(metrics, 'mutating')
  return {
    name: 'MutatingAdmissionPolicy',
    operations: ['CREATE', 'UPDATE', 'CONNECT'],
    mutate(request, rounds) {
      if (policies().length === 0 || request.object === undefined || isExempt(request.definition)) return undefined
      return engine().mutateRequest(policies(), request, { cluster, authorizer, clock, checks, rounds })
    },
  }
}
