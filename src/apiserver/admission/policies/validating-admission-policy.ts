import type { V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/types.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import type { BoundPolicy } from '#apiserver/admission/policies/judge-request.ts'
import { isExempt } from '#apiserver/admission/policies/request-match.ts'

const group = 'admissionregistration.k8s.io'

/** Expressions of the cluster's own policies say what may be written. */
export function validatingAdmissionPolicy({ cluster, authorizer }: AdmissionContext): AdmissionPlugin {
  const policies = new Map<string, V1ValidatingAdmissionPolicy>()
  const bindings = new Map<string, V1ValidatingAdmissionPolicyBinding>()
  let bound: readonly BoundPolicy[] = []
  const follow = <T extends { metadata?: { name?: string } }>(resource: string, known: Map<string, T>) =>
    cluster.onChange(group, resource, (object, isDeleted) => {
      const name = object.metadata?.name ?? ''
      if (isDeleted) known.delete(name)
      else known.set(name, object as T)
      bound = boundPolicies(policies, bindings)
    })
  follow('validatingadmissionpolicies', policies)
  follow('validatingadmissionpolicybindings', bindings)
  return {
    name: 'ValidatingAdmissionPolicy',
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    validate(request) {
      if (bound.length === 0 || isExempt(request.definition)) return undefined
      return import('#apiserver/admission/policies/judge-request.ts').then(({ judgeRequest }) =>
        judgeRequest(bound, request, { cluster, authorizer }),
      )
    },
  }
}

/** A policy without a binding does nothing. */
function boundPolicies(
  policies: ReadonlyMap<string, V1ValidatingAdmissionPolicy>,
  bindings: ReadonlyMap<string, V1ValidatingAdmissionPolicyBinding>,
): BoundPolicy[] {
  const byPolicy = Map.groupBy(bindings.values(), ({ spec }) => spec.policyName ?? '')
  return [...policies.keys()].toSorted().flatMap((name) => {
    const policy = policies.get(name)
    const own = byPolicy.get(name)
    return policy === undefined || own === undefined ? [] : [{ policy, bindings: own }]
  })
}
