/** Judges the pod template that a workload carries. */
import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import type { RuleContext } from '#api/resource.ts'

/** What the rules let through because a gate is on, or because the stored object already had it. */
export type PodValidationOptions = {
  /** Gates, and what the stored object already uses. */
  readonly isEnabled: RuleContext['isEnabled']
}

export function podValidationOptions(
  _next: V1PodTemplateSpec | undefined,
  _prev?: V1PodTemplateSpec,
  context?: Pick<RuleContext, 'isEnabled'>,
): PodValidationOptions {
  return { isEnabled: context?.isEnabled ?? (() => false) }
}

/** `check` stands at the template: `spec.template`. */
export function validatePodTemplate(_template: V1PodTemplateSpec, _check: Check, _options: PodValidationOptions): void {}

export function validatePodTemplateUpdate(
  _next: V1PodTemplateSpec,
  _prev: V1PodTemplateSpec,
  _check: Check,
  _options: PodValidationOptions,
): void {}
