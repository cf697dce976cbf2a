/** Validates pods as they stand. */
import { validatePodAnnotations, validateProfilesMatch } from '#api/core/v1/pod-spec/validate-annotations.ts'
import { validateImageOfPod } from '#api/core/v1/pod-spec/validate-containers.ts'
import { validatePodSpec } from '#api/core/v1/pod-spec/validate-pod-spec.ts'
import { optionsForCreate, optionsForUpdate, type PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import type { RuleContext } from '#api/resource.ts'

export const noSpec: V1PodSpec = { containers: [] }

const ofPods = new WeakMap<PodValidationOptions, PodValidationOptions>()

function forPod(options: PodValidationOptions): PodValidationOptions {
  let known = ofPods.get(options)
  if (known === undefined) {
    known = { ...options, resourceIsPod: true }
    ofPods.set(options, known)
  }
  return known
}

export const podOptionsForUpdate = (prev: V1Pod, context: RuleContext): PodValidationOptions => ({
  ...optionsForUpdate(prev.spec ?? noSpec, prev.metadata, context),
  resourceIsPod: true,
})

export function validatePod(pod: V1Pod, check: Check<V1Pod>, context: RuleContext): void {
  const { spec = noSpec, metadata } = pod
  validatePodMetadataAndSpec(check, forPod(optionsForCreate(context)))
  if (spec.ephemeralContainers?.length) check.at('spec').at('ephemeralContainers').forbidden('cannot be set on create')
  if (spec.nodeName && spec.schedulingGates?.length) {
    check.at('spec').at('nodeName').forbidden('cannot be set until all schedulingGates have been cleared')
  }
  if (metadata.annotations) validateProfilesMatch(metadata.annotations, check.at('spec').with(spec))
}

export function validatePodMetadataAndSpec(check: Check<V1Pod>, options: PodValidationOptions): void {
  const pod = check.value
  const { spec = noSpec, metadata } = pod
  validatePodAnnotations(check.at('metadata').at('annotations'), spec, options)
  const at = check.at('spec')
  validatePodSpec(at.with(spec), metadata, options)
  if (!spec.serviceAccountName) validateNoTokens(at.with(spec))
  for (const list of ['containers', 'initContainers'] as const) {
    const containers = spec[list]
    if (containers === undefined) continue
    const atList = at.at(list)
    for (let index = 0; index < containers.length; index++) {
      const container = containers[index]
      if (container?.image && container.image.trim() !== container.image) validateImageOfPod(atList.at(index).with(container))
    }
  }
}

/** Tokens are those of an account. */
function validateNoTokens(check: Check<V1PodSpec>): void {
  for (const place of check.at('volumes').items()) {
    for (const here of place.at('projected').at('sources').items()) {
      const { serviceAccountToken } = here.value
      if (!serviceAccountToken) continue
      const at = here.at('serviceAccountToken')
      at.forbidden('must not be specified when serviceAccountName is not set')
    }
  }
}
