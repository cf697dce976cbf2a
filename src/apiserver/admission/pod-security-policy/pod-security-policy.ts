import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { fieldErrorText } from '#api/meta/aggregate.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { PodSecurityPolicy } from '#api/policy/v1beta1/pod-security-policy.ts'
import type { V1beta1PodSecurityPolicy } from '#api/policy/v1beta1/pod-security-policy-types.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'
import { changesOwnershipOnly } from '#apiserver/admission/ownership-changes.ts'
import { policyFaults } from '#apiserver/admission/pod-security-policy/faults.ts'
import { fillIn } from '#apiserver/admission/pod-security-policy/fill-in.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import { append } from '#base/append.ts'

const annotation = 'kubernetes.io/psp'
const auditPrefix = 'podsecuritypolicy.policy.k8s.io/'

/** Lets in pods that some policy allows, and whose maker or service account may use it. Replaced by PodSecurity. */
export function podSecurityPolicy({ cluster, authorizer }: AdmissionContext): AdmissionPlugin {
  /** The first policy that allows the pod as it is, or, where it may be changed, the first that allows it changed. */
  const allowing = async (request: AdmissionRequest, pod: V1Pod, mayChange: boolean): Promise<{ pod: V1Pod; policy: string }> => {
    const policies = cluster.list(PodSecurityPolicy)
    if (policies.length === 0) throw forbid(request, 'PodSecurityPolicy: no providers available to validate pod request')
    const hint = mayChange ? undefined : pod.metadata.annotations?.[annotation]
    const isHint = ({ metadata }: V1beta1PodSecurityPolicy) => metadata.name === hint
    let changed: { pod: V1Pod; policy: string } | undefined
    const faults: string[] = []
    for (const policy of [...policies.filter(isHint), ...policies.filter((each) => !isHint(each))]) {
      const name = policy.metadata.name ?? ''
      const filled = deepCopy(pod)
      fillIn(filled, policy)
      const found = policyFaults(filled, policy)
      const isChanged = !equalityOf(Pod)(filled, pod)
      if (found.length === 0 && isChanged && (!mayChange || changed !== undefined)) continue
      if (!(await mayUse(authorizer, request, pod, name))) continue
      if (found.length > 0) append(faults, found.map(fieldErrorText))
      else if (!isChanged) return { pod: filled, policy: name }
      else changed = { pod: filled, policy: name }
    }
    if (changed !== undefined) return changed
    throw forbid(request, `PodSecurityPolicy: unable to ${mayChange ? 'admit' : 'validate'} pod: [${faults.join(' ')}]`)
  }
  return {
    name: 'PodSecurityPolicy',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods'],
    async mutate(request) {
      if (request.operation !== 'CREATE') return
      const pod = objectOf(Pod, request)
      const { pod: allowed, policy } = await allowing(request, pod, true)
      pod.spec = allowed.spec
      pod.metadata.annotations = { ...allowed.metadata.annotations, [annotation]: policy }
      request.annotateAudit(`${auditPrefix}admit-policy`, policy)
    },
    async validate(request) {
      if (changesOwnershipOnly(request)) return
      const { policy } = await allowing(request, objectOf(Pod, request), false)
      request.annotateAudit(`${auditPrefix}validate-policy`, policy)
    },
  }
}

/** The service account is asked first: it is the one that mostly may. */
async function mayUse(authorizer: Authorizer, { user, namespace }: AdmissionRequest, { spec }: V1Pod, policy: string): Promise<boolean> {
  const users = [...(spec.serviceAccountName ? [accountUser(namespace, spec.serviceAccountName)] : []), user]
  for (const each of users) {
    for (const group of ['policy', 'extensions']) {
      const attributes = { user: each, verb: 'use', namespace, group, version: '*', resource: 'podsecuritypolicies', name: policy }
      const { decision } = await authorizer.authorize({ ...attributes, subresource: '', path: '', isResourceRequest: true })
      if (decision === 'allow') return true
    }
  }
  return false
}

const accountUser = (namespace: string, name: string): UserInfo => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  extra: {},
})
