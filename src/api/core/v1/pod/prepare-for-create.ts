/** What the server settles when a pod is made. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import { eachContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import { dropDisabledSpecFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { appArmorContainerPrefix, appArmorProfileOf } from '#api/core/v1/pod-spec/validate-annotations.ts'
import { validateAppArmorProfile } from '#api/core/v1/pod-spec/validate-security-context.ts'
import { appArmorDeprecated } from '#api/core/v1/pod-spec/warnings.ts'
import { podQosClass } from '#api/core/v1/resources.ts'
import type { V1AppArmorProfile, V1Pod, V1PodAffinityTerm, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { RuleContext } from '#api/resource.ts'

const sameProfile = equalityOf(Pod).at('spec').at('securityContext').at('appArmorProfile')

type Labels = { readonly [key: string]: string }

export function preparePodForCreate(pod: V1Pod, context: RuleContext): void {
  pod.spec ??= { containers: [] }
  const { spec, metadata } = pod
  // Nothing of a status that the creator sent stays, but a class that it names wins.
  pod.status = { phase: 'Pending', qosClass: podQosClass(pod) }
  mirrorServiceAccount(spec)
  dropDisabledSpecFields(spec, undefined, context)
  if (spec.schedulingGates?.length) {
    const gated = { reason: 'SchedulingGated', message: 'Scheduling is blocked due to non-empty scheduling gates' }
    pod.status.conditions = [{ type: 'PodScheduled', status: 'False', lastTransitionTime: context.now, ...gated }]
  }
  if (spec.affinity) mergeAffinityLabelKeys(spec, metadata.labels ?? {})
  if (spec.topologySpreadConstraints) mergeSpreadLabelKeys(spec, metadata.labels ?? {}, context)
  if (metadata.annotations) turnAppArmorAnnotationsIntoFields(pod, spec, metadata.annotations)
}

/** Admission may have chosen an account; the field's old name must say the same. */
function mirrorServiceAccount(spec: V1PodSpec): void {
  if (spec.serviceAccountName) spec.serviceAccount = spec.serviceAccountName
  else if (spec.serviceAccount !== undefined) delete spec.serviceAccount
}

function mergeAffinityLabelKeys({ affinity }: V1PodSpec, labels: Labels): void {
  for (const each of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const { podAffinityTerm } of each?.preferredDuringSchedulingIgnoredDuringExecution ?? []) mergeTerm(podAffinityTerm, labels)
    for (const term of each?.requiredDuringSchedulingIgnoredDuringExecution ?? []) mergeTerm(term, labels)
  }
}

function mergeTerm(term: V1PodAffinityTerm | undefined, labels: Labels): void {
  if (term?.labelSelector === undefined) return
  mergeLabelKeys(term.labelSelector, term.matchLabelKeys, 'In', labels)
  mergeLabelKeys(term.labelSelector, term.mismatchLabelKeys, 'NotIn', labels)
}

function mergeSpreadLabelKeys(spec: V1PodSpec, labels: Labels, { isEnabled }: RuleContext): void {
  if (!isEnabled('MatchLabelKeysInPodTopologySpread') || !isEnabled('MatchLabelKeysInPodTopologySpreadSelectorMerge')) return
  for (const { labelSelector, matchLabelKeys } of spec.topologySpreadConstraints ?? []) {
    if (labelSelector) mergeLabelKeys(labelSelector, matchLabelKeys, 'In', labels)
  }
}

/** Keys stand for the values this pod has, so that nobody who reads the selector later needs the pod. */
function mergeLabelKeys(selector: V1LabelSelector, keys: readonly string[] | undefined, operator: string, labels: Labels): void {
  for (const key of keys ?? []) {
    const value = labels[key]
    if (value === undefined) continue
    selector.matchExpressions ??= []
    selector.matchExpressions.push({ key, operator, values: [value] })
  }
}

// Afterwards nobody can tell a field that was made here from one that was sent.
const warningsOfPods = new WeakMap<V1Pod, string[]>()

/** For pods whose annotations had to be read. */
export const appArmorWarnings = (pod: V1Pod): string[] => warningsOfPods.get(pod) ?? []

function turnAppArmorAnnotationsIntoFields(pod: V1Pod, spec: V1PodSpec, annotations: Labels): void {
  if (spec.os?.name === 'windows') return
  const warnings: string[] = []
  eachContainer(spec, (container) => {
    const key = appArmorContainerPrefix + container.name
    const annotation = annotations[key]
    if (annotation === undefined || container.securityContext?.appArmorProfile) return
    const profile = validProfile(annotation)
    if (profile !== undefined) {
      if (sameProfile(profile, spec.securityContext?.appArmorProfile)) return
      container.securityContext ??= {}
      container.securityContext.appArmorProfile = profile
    }
    warnings.push(`metadata.annotations[${key}]: ${appArmorDeprecated}`)
  })
  if (warnings.length > 0) warningsOfPods.set(pod, warnings)
}

function validProfile(annotation: string): V1AppArmorProfile | undefined {
  const profile = appArmorProfileOf(annotation)
  if (profile === undefined) return undefined
  const check = new Check(profile)
  validateAppArmorProfile(check)
  return check.failed ? undefined : profile
}
