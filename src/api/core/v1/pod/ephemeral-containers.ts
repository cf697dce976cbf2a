/** The endpoint by which containers are added to a running pod, to look into it. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import { forbiddenNowhere } from '#api/core/v1/odd-errors.ts'
import { countGeneration } from '#api/core/v1/pod/generation.ts'
import { noSpec, podOptionsForUpdate } from '#api/core/v1/pod/validate-pod.ts'
import { validateWholePodAgain } from '#api/core/v1/pod/validate-update.ts'
import { dropDisabledSpecFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { mirrorPodAnnotation, validatePodAnnotationsUpdate } from '#api/core/v1/pod-spec/validate-annotations.ts'
import type { V1EphemeralContainer, V1Pod } from '#api/core/v1/types.gen.ts'
import { internalDiff } from '#api/core/v1/unified-diff.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { putBack } from '#api/meta/put-back.ts'
import { resetObjectMetaForStatus } from '#api/meta/reset-object-meta-for-status.ts'
import type { RuleContext } from '#api/resource.ts'

const sameContainer = equalityOf(Pod).at('spec').at('ephemeralContainers').each

export function prepareEphemeralContainers(next: V1Pod, prev: V1Pod, context: RuleContext): void {
  const added = next.spec?.ephemeralContainers
  next.spec = { ...(prev.spec ?? noSpec) }
  if (added === undefined) delete next.spec.ephemeralContainers
  else next.spec.ephemeralContainers = added
  putBack(next, prev, 'status')
  resetObjectMetaForStatus(next.metadata, prev.metadata)
  dropDisabledSpecFields({ ...noSpec, ephemeralContainers: added ?? [] }, prev.spec, context)
  countGeneration(next, prev)
}

export function validateEphemeralContainersUpdate(next: V1Pod, prev: V1Pod, check: Check<V1Pod>, context: RuleContext): void {
  if (prev.metadata.annotations?.[mirrorPodAnnotation] !== undefined) {
    forbiddenNowhere('static pods do not support ephemeral containers', check)
    return
  }
  const options = podOptionsForUpdate(prev, context)
  validateWholePodAgain(check, options)
  const { spec = noSpec } = next
  validatePodAnnotationsUpdate(check.at('metadata').at('annotations'), prev.metadata.annotations, spec, options)
  const byName = new Map((spec.ephemeralContainers ?? []).map((container) => [container.name, container]))
  for (const old of prev.spec?.ephemeralContainers ?? [])
    validateKept(old, byName.get(old.name), check.at('spec').at('ephemeralContainers'))
}

function validateKept(old: V1EphemeralContainer, next: V1EphemeralContainer | undefined, check: Check<unknown>): void {
  if (next === undefined) check.forbidden(`existing ephemeral containers ${quoted(old.name)} may not be removed\n`)
  else if (!sameContainer(old, next)) {
    const diff = internalDiff('core.EphemeralContainer', old, next)
    check.forbidden(`existing ephemeral containers ${quoted(old.name)} may not be changed\n${diff}`)
  }
}
