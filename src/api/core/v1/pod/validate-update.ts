/** Judges changes to a pod: most of its spec stays as it was made. */
import { noSpec, podOptionsForUpdate, validatePodMetadataAndSpec } from '#api/core/v1/pod/validate-pod.ts'
import { validatePodAnnotationsUpdate } from '#api/core/v1/pod-spec/validate-annotations.ts'
import { validateTolerations } from '#api/core/v1/pod-spec/validate-tolerations.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Container, V1NodeAffinity, V1NodeSelectorTerm, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { internalDiff } from '#api/core/v1/unified-diff.ts'
import type { Check } from '#api/meta/check.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { nameIsDns1123Subdomain, rangeError } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import type { RuleContext } from '#api/resource.ts'

const maxSeconds = 2147483647

const updatable = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',')

/** What every endpoint of a pod asks of its metadata and spec. */
export function validateWholePodAgain(next: V1Pod, check: Check, options: PodValidationOptions): void {
  validateObjectMeta(next.metadata, { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain }, check.at('metadata'))
  validatePodMetadataAndSpec(next, check, options)
}

export function validatePodUpdate(next: V1Pod, prev: V1Pod, check: Check, context: RuleContext): void {
  const options = podOptionsForUpdate(prev, context)
  const { spec = noSpec } = next
  const { spec: prevSpec = noSpec } = prev
  validateWholePodAgain(next, check, options)
  const atAnnotations = check.at('metadata.annotations')
  validatePodAnnotationsUpdate(next.metadata.annotations, prev.metadata.annotations, spec, atAnnotations, options)
  const at = check.at('spec')
  if (!validateSameContainers(spec.containers, prevSpec.containers, at.at('containers'))) return
  if (!validateSameContainers(spec.initContainers, prevSpec.initContainers, at.at('initContainers'))) return
  if (!validateDeadline(spec.activeDeadlineSeconds, prevSpec.activeDeadlineSeconds, at.at('activeDeadlineSeconds'))) return
  validateTolerationsUpdate(spec, prevSpec, at.at('tolerations'), options)
  validateGatesUpdate(spec, prevSpec, at.at('schedulingGates'))
  if (!semanticEqual(spec, prevSpec)) validateRestUnchanged(spec, prevSpec, at)
}

/** Returns whether it makes sense to look further. */
function validateSameContainers(next: readonly V1Container[] = [], prev: readonly V1Container[] = [], check: Check): boolean {
  if (next.length !== prev.length) {
    check.forbidden('pod updates may not add or remove containers')
    return false
  }
  for (const [index, { image = '' }] of next.entries()) {
    if (image === '') check.at(index).at('image').required()
    if (image.trim() !== image) check.at(index).at('image').invalid(image, 'must not have leading or trailing whitespace')
  }
  return true
}

/** A deadline may come nearer, never go away. */
function validateDeadline(next: number | undefined, prev: number | undefined, check: Check): boolean {
  if (next === undefined) {
    if (prev !== undefined) check.invalid(null, 'must not update from a positive integer to nil value')
    return true
  }
  if (next < 0 || next > maxSeconds) check.invalid(next, rangeError(0, maxSeconds))
  else if (prev !== undefined && prev < next) check.invalid(next, 'must be less than or equal to previous value')
  else return true
  return false
}

function validateTolerationsUpdate(next: V1PodSpec, prev: V1PodSpec, check: Check, options: PodValidationOptions): void {
  const tolerations = next.tolerations ?? []
  for (const old of prev.tolerations ?? []) {
    const { tolerationSeconds: _, ...kept } = old
    const isSame = ({ tolerationSeconds: __, ...other }: typeof old) => semanticEqual(kept, other)
    if (tolerations.some(isSame)) continue
    check.forbidden('existing toleration can not be modified except its tolerationSeconds')
    return
  }
  validateTolerations(tolerations, check, options)
}

function validateGatesUpdate(next: V1PodSpec, prev: V1PodSpec, check: Check): void {
  const known = new Set((prev.schedulingGates ?? []).map(({ name }) => name))
  const added = new Map<string, number>()
  for (const [index, { name }] of (next.schedulingGates ?? []).entries()) if (!known.has(name)) added.set(name, index)
  for (const [name, index] of added) {
    check.at(index).at('name').forbidden(`only deletion is allowed, but found new scheduling gate '${name}'`)
  }
}

function validateRestUnchanged(next: V1PodSpec, prev: V1PodSpec, check: Check): void {
  const munged: V1PodSpec = { ...next, containers: withImagesOf(next.containers, prev.containers) }
  if (next.initContainers) munged.initContainers = withImagesOf(next.initContainers, prev.initContainers)
  for (const field of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations'] as const) takeOver(munged, prev, field)
  if ((prev.terminationGracePeriodSeconds ?? 0) < 0 && munged.terminationGracePeriodSeconds === 1) {
    takeOver(munged, prev, 'terminationGracePeriodSeconds')
  }
  // Where a gated pod may run can still be narrowed: nothing has been decided by it yet.
  if (prev.schedulingGates?.length) {
    validateNarrowedSelector(munged, prev, check)
    validateNarrowedAffinity(munged, prev, check)
  }
  if (semanticEqual(munged, prev)) return
  check.forbidden(`pod updates may not change fields other than ${updatable}\n${internalDiff('core.PodSpec', prev, munged)}`)
}

function withImagesOf(next: readonly V1Container[] = [], prev: readonly V1Container[] = []): V1Container[] {
  return next.map((container, index) => {
    const munged = { ...container }
    takeOver(munged, prev[index] ?? container, 'image')
    return munged
  })
}

function takeOver<T extends object, K extends keyof T>(to: T, from: T, field: K): void {
  if (from[field] === undefined) delete to[field]
  else to[field] = from[field]
}

function validateNarrowedSelector(munged: V1PodSpec, prev: V1PodSpec, check: Check): void {
  if (semanticEqual(munged.nodeSelector ?? {}, prev.nodeSelector ?? {})) return
  const next = munged.nodeSelector ?? {}
  const lost = Object.entries(prev.nodeSelector ?? {}).some(([key, value]) => next[key] !== value)
  if (lost) {
    const message = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)'
    check.at('nodeSelector').invalid(asInternal('{s', munged.nodeSelector), message)
  }
  takeOver(munged, prev, 'nodeSelector')
}

function validateNarrowedAffinity(munged: V1PodSpec, prev: V1PodSpec, check: Check): void {
  const old = prev.affinity?.nodeAffinity
  const next = munged.affinity?.nodeAffinity
  if (semanticEqual(old, next)) return
  validateNodeAffinityUpdate(next, old, check.at('affinity.nodeAffinity'))
  if (munged.affinity === undefined) {
    if (old !== undefined) munged.affinity = { nodeAffinity: old }
    return
  }
  const { podAffinity, podAntiAffinity } = munged.affinity
  if (prev.affinity === undefined && podAffinity === undefined && podAntiAffinity === undefined) {
    delete munged.affinity
    return
  }
  munged.affinity = { ...munged.affinity }
  if (old === undefined) delete munged.affinity.nodeAffinity
  else munged.affinity.nodeAffinity = old
}

const requiredTerms = 'requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'

function validateNodeAffinityUpdate(next: V1NodeAffinity | undefined, prev: V1NodeAffinity | undefined, check: Check): void {
  const required = prev?.requiredDuringSchedulingIgnoredDuringExecution
  if (required === undefined) return
  const oldTerms = required.nodeSelectorTerms ?? []
  const newTerms = next?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  if (oldTerms.length > 0 && oldTerms.length !== (newTerms?.length ?? 0)) {
    const message = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed'
    check.at(requiredTerms).invalid(asInternal('[core.NodeSelectorTerm', newTerms), message)
    return
  }
  for (const [index, oldTerm] of oldTerms.entries()) {
    const newTerm = newTerms?.[index] ?? {}
    if (hasOnlyAdditions(newTerm, oldTerm)) continue
    const at = check.at(requiredTerms).at(index)
    at.invalid(asInternal('core.NodeSelectorTerm', newTerm), 'only additions are allowed (no mutations or deletions)')
  }
}

/** Requirements of a term must all hold, so that adding one narrows; the empty term matches nothing, and adding to it widens. */
function hasOnlyAdditions(next: V1NodeSelectorTerm, prev: V1NodeSelectorTerm): boolean {
  const { matchExpressions = [], matchFields = [] } = prev
  const { matchExpressions: nextExpressions = [], matchFields: nextFields = [] } = next
  if (matchExpressions.length === 0 && matchFields.length === 0) return nextExpressions.length === 0 && nextFields.length === 0
  return (
    semanticEqual(nextExpressions.slice(0, matchExpressions.length), matchExpressions) &&
    semanticEqual(nextFields.slice(0, matchFields.length), matchFields)
  )
}
