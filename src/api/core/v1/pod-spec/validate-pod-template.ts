/** Validates the pod template that a workload carries. */
import { validatePodAnnotations, validateProfilesMatch } from '#api/core/v1/pod-spec/validate-annotations.ts'
import { validatePodSpec } from '#api/core/v1/pod-spec/validate-pod-spec.ts'
import {
  defaultGates,
  type Gates,
  optionsForCreate,
  optionsForUpdate,
  type PodValidationOptions,
} from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1PodSpec, V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { validateAnnotations, validateLabels } from '#api/meta/labels.ts'

export type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'

/** What may pass: what the gates allow, and what `prev`, the stored template, already has. */
export function podValidationOptions(
  _next: V1PodTemplateSpec | undefined,
  prev?: V1PodTemplateSpec,
  gates: Gates = defaultGates,
): PodValidationOptions {
  return prev === undefined ? optionsForCreate(gates) : optionsForUpdate(prev.spec ?? noSpec, prev.metadata, gates)
}

const noSpec: V1PodSpec = { containers: [] }

/** `check` stands at the template: `spec.template`. */
export function validatePodTemplate(check: Check<V1PodTemplateSpec>, options: PodValidationOptions): void {
  const template = check.value
  const { metadata, spec = noSpec } = template
  validateLabels(check.dynamic('labels').with(metadata?.labels))
  validateAnnotations(check.dynamic('annotations').with(metadata?.annotations))
  validatePodAnnotations(check.dynamic('annotations').with(metadata?.annotations), spec, options)
  validatePodSpec(check.at('spec').with(spec), undefined, options)
  validateProfilesMatch(metadata?.annotations, check.at('spec').with(spec))
  if (spec.ephemeralContainers?.length)
    check.at('spec').at('ephemeralContainers').forbidden('ephemeral containers not allowed in pod template')
}
