/** What becomes of a namespace whose labels change. */

import { Namespace, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { invalid } from '#api/meta/status-error.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'
import type { Exemptions } from '#apiserver/admission/pod-security/configuration.ts'
import { warningsOfExisting } from '#apiserver/admission/pod-security/existing-pods.ts'
import { compareLevels, isSameLevelVersion, levelVersionText } from '#apiserver/admission/pod-security/level-version.ts'
import {
  isEquivalent,
  isFullyPrivileged,
  labelPrefix,
  modes,
  type Policy,
  policyOf,
} from '#apiserver/admission/pod-security/namespace-policy.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { Clock } from '#base/clock.ts'

export type NamespaceRules = { cluster: ClusterView; clock: Clock; defaults: Policy; exemptions: Exemptions }

/** Refuses labels that mean nothing; warns of pods that the new ones would not let in. */
export function validateNamespace(request: AdmissionRequest, { cluster, clock, defaults, exemptions }: NamespaceRules): void {
  const namespace = objectOf(Namespace, request)
  const name = namespace.metadata?.name ?? ''
  const next = policyOf(namespace.metadata?.labels, defaults)
  const before = request.oldObject && policyOf(request.oldObject.metadata?.labels, defaults)
  const isOldMistake = before !== undefined && before.errors.length > 0 && JSON.stringify(next.errors) === JSON.stringify(before.errors)
  if (next.errors.length > 0 && !isOldMistake) throw invalid({ group: '', kind: 'Namespace' }, request.name, next.errors)
  if (before === undefined) return

  const [enforce, enforced] = [next.policy.enforce, before.policy.enforce]
  if (isSameLevelVersion(enforce, enforced) || enforce.level === 'privileged') return
  if (enforce.minor === enforced.minor && compareLevels(enforce.level, enforced.level) < 0) return
  if (exemptions.namespaces.has(name)) {
    if (!isFullyPrivileged(next.policy) && !isEquivalent(next.policy, defaults)) request.warn(exemptWarning(namespace, next.policy))
    return
  }
  const pods = cluster.list(Pod, name)
  const isExempt = (runtimeClass = '') => exemptions.runtimeClasses.has(runtimeClass)
  for (const warning of warningsOfExisting(name, pods, enforce, { clock, isExempt })) request.warn(warning)
}

/** Names what is set for nothing. */
function exemptWarning({ metadata }: V1Namespace, policy: Policy): string {
  const isSet = (label: string) => metadata?.labels?.[labelPrefix + label] !== undefined
  const ignored = modes
    .filter((mode) => policy[mode].level !== 'privileged' && (isSet(mode) || isSet(`${mode}-version`)))
    .map((mode) => `${mode}=${levelVersionText(policy[mode])}`)
  return `namespace "${metadata?.name ?? ''}" is exempt from Pod Security, and the policy (${ignored.join(', ')}) will be ignored`
}
