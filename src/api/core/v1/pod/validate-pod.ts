/** Judges pods as they stand. */
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

export function validatePod(pod: V1Pod, check: Check, context: RuleContext): void {
  const { spec = noSpec, metadata } = pod
  validatePodMetadataAndSpec(pod, check, forPod(optionsForCreate(context)))
  if (spec.ephemeralContainers?.length) check.at('spec.ephemeralContainers').forbidden('cannot be set on create')
  if (spec.nodeName && spec.schedulingGates?.length) {
    check.at('spec.nodeName').forbidden('cannot be set until all schedulingGates have been cleared')
  }
  if (metadata.annotations) validateProfilesMatch(metadata.annotations, spec, check.at('spec'))
}

export function validatePodMetadataAndSpec(pod: V1Pod, check: Check, options: PodValidationOptions): void {
  const { spec = noSpec, metadata } = pod
  validatePodAnnotations(metadata.annotations, spec, check.at('metadata.annotations'), options)
  const at = check.at('spec')
  validatePodSpec(spec, metadata, at, options)
  if (!spec.serviceAccountName) validateNoTokens(spec, at)
  for (const list of ['containers', 'initContainers'] as const) {
    const containers = spec[list]
    if (containers === undefined) continue
    const atList = at.at(list)
    for (let index = 0; index < containers.length; index++) {
      const container = containers[index]
      if (container?.image && container.image.trim() !== container.image) validateImageOfPod(container, atList.at(index))
    }
  }
}

/** Tokens are those of an account. */
function validateNoTokens(spec: V1PodSpec, check: Check): void {
  for (const [index, { projected }] of (spec.volumes ?? []).entries()) {
    for (const [place, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
      if (!serviceAccountToken) continue
      const at = check.at('volumes').at(index).at('projected.sources').at(place).at('serviceAccountToken')
      at.forbidden('must not be specified when serviceAccountName is not set')
    }
  }
}
