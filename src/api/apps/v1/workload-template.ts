/** Rules that bind a workload's selector and its pod template together. */

import { type PodValidationOptions, validatePodTemplate } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { dns1123Label } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { type LabelSelector, labelSelectorFrom } from '#api/meta/selector.ts'
import type { V1LabelSelector, V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { ScaleRules } from '#api/resource.ts'

type Replicated = {
  spec: { replicas?: number; selector?: V1LabelSelector }
  status?: { replicas?: number }
}

/** How deployments, replica sets and stateful sets are scaled. */
export const scaleOfReplicas: ScaleRules<Replicated> = {
  replicas: ({ spec }) => spec.replicas ?? 0,
  setReplicas({ spec }, replicas) {
    spec.replicas = replicas
  },
  statusReplicas: ({ status }) => status?.replicas ?? 0,
  selector: ({ spec }) => selectorText(spec.selector),
}

/** Replica sets, and deployments, which make them; upstream speaks of deployments in both. `check` stands at the spec. */
export function validateReplicatedTemplate(
  check: Check<{ selector?: V1LabelSelector; template?: V1PodTemplateSpec }>,
  options: PodValidationOptions,
): void {
  const spec = check.value
  const template = spec.template ?? { spec: { containers: [] } }
  const selector = validateRequiredSelector(check.at('selector'), 'deployment', 'invalid label selector')
  if (!selector) return
  const at = check.at('template')
  mustSelectTemplate(selector, at.with(template))
  validatePodTemplate(at.with(template), options)
  mustRunForever(at.with(template), 'ReplicaSet')
}

/** The selector ready for use, unless it cannot be used at all. */
export function validateRequiredSelector(
  check: Check<V1LabelSelector | undefined>,
  kind: string,
  unusableDetail: string,
): LabelSelector | undefined {
  const selector = check.value
  if (!selector) check.required()
  else {
    validateLabelSelector(check)
    if (isEmptySelector(selector)) check.invalid(`empty selector is invalid for ${kind}`, asInternal('meta.LabelSelector', selector))
  }
  const parsed = selectorOf(selector)
  if (!parsed) check.invalid(unusableDetail, asInternal('meta.LabelSelector', selector))
  return parsed
}

/** Ready for use; undefined if it cannot be read. An absent one selects nothing. */
export function selectorOf(selector: V1LabelSelector | undefined): LabelSelector | undefined {
  try {
    return labelSelectorFrom(selector)
  } catch {
    return undefined
  }
}

/** For the scale subresource. */
function selectorText(selector: V1LabelSelector | undefined): string {
  return labelSelectorFrom(selector).toString()
}

export function isEmptySelector({ matchLabels, matchExpressions }: V1LabelSelector): boolean {
  for (const _key in matchLabels) return false
  return !matchExpressions?.length
}

/** `check` stands at the template. */
export function mustSelectTemplate(selector: LabelSelector, check: Check<V1PodTemplateSpec>): void {
  const { metadata } = check.value
  if (selector.matches(metadata?.labels)) return
  check.at('metadata').at('labels').invalid('`selector` does not match template `labels`', asInternal('{s', metadata?.labels))
}

export function mustRunForever(check: Check<V1PodTemplateSpec>, kind: string): void {
  const { spec } = check.value
  if (spec?.restartPolicy !== 'Always') check.at('spec').at('restartPolicy').or('').notSupported(['Always'])
  if (spec?.activeDeadlineSeconds !== undefined) {
    check.at('spec').at('activeDeadlineSeconds').forbidden(`activeDeadlineSeconds in ${kind} is not Supported`)
  }
}

/** Pods are named after their workload, and a host's name has no dots. */
export function warningsForPodNames({ name }: V1ObjectMeta): string[] {
  const problems = dns1123Label(name ?? '')
  if (problems.length === 0) return []
  return [
    `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
  ]
}
