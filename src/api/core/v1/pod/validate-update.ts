/** Validates changes to a pod: most of its spec stays as it was made. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import { noSpec, podOptionsForUpdate, validatePodMetadataAndSpec } from '#api/core/v1/pod/validate-pod.ts'
import { validatePodAnnotationsUpdate } from '#api/core/v1/pod-spec/validate-annotations.ts'
import { validateTolerations } from '#api/core/v1/pod-spec/validate-tolerations.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type {
  V1Container,
  V1NodeAffinity,
  V1NodeSelectorTerm,
  V1Pod,
  V1PodSchedulingGate,
  V1PodSpec,
  V1Toleration,
} from '#api/core/v1/types.gen.ts'
import { internalDiff } from '#api/core/v1/unified-diff.ts'
import type { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nameIsDns1123Subdomain, rangeError } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import type { RuleContext } from '#api/resource.ts'

const sameSpec = equalityOf(Pod).at('spec')
const sameNodeAffinity = sameSpec.at('affinity').at('nodeAffinity')
const sameTerm = sameNodeAffinity.at('requiredDuringSchedulingIgnoredDuringExecution').at('nodeSelectorTerms').each

const maxSeconds = 2147483647

const updatable = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',')

/** What every endpoint of a pod asks of its metadata and spec. */
export function validateWholePodAgain(check: Check<V1Pod>, options: PodValidationOptions): void {
  validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
  validatePodMetadataAndSpec(check, options)
}

export function validatePodUpdate(next: V1Pod, prev: V1Pod, check: Check<V1Pod>, context: RuleContext): void {
  const options = podOptionsForUpdate(prev, context)
  const { spec = noSpec } = next
  const { spec: prevSpec = noSpec } = prev
  validateWholePodAgain(check, options)
  const atAnnotations = check.at('metadata').at('annotations')
  validatePodAnnotationsUpdate(atAnnotations, prev.metadata.annotations, spec, options)
  const at = check.at('spec')
  if (!validateSameContainers(at.at('containers').with(spec.containers), prevSpec.containers)) return
  if (!validateSameContainers(at.at('initContainers').with(spec.initContainers), prevSpec.initContainers)) return
  if (!validateDeadline(at.at('activeDeadlineSeconds').with(spec.activeDeadlineSeconds), prevSpec.activeDeadlineSeconds)) return
  validateTolerationsUpdate(spec, prevSpec, at.at('tolerations'), options)
  validateGatesUpdate(spec, prevSpec, at.at('schedulingGates'))
  if (!sameSpec(spec, prevSpec)) validateRestUnchanged(at.with(spec), prevSpec)
}

/** Returns whether it makes sense to look further. */
function validateSameContainers(check: Check<readonly V1Container[] | undefined>, prev: readonly V1Container[] = []): boolean {
  const next = check.value ?? []
  if (next.length !== prev.length) {
    check.forbidden('pod updates may not add or remove containers')
    return false
  }
  for (const [index, { image = '' }] of next.entries()) {
    if (image === '') check.at(index).at('image').required()
    if (image.trim() !== image) check.at(index).at('image').invalid('must not have leading or trailing whitespace', image)
  }
  return true
}

/** A deadline may come nearer, never go away. */
function validateDeadline(check: Check<number | undefined>, prev: number | undefined): boolean {
  const next = check.value
  if (next === undefined) {
    if (prev !== undefined) check.invalid('must not update from a positive integer to nil value', null)
    return true
  }
  if (next < 0 || next > maxSeconds) check.invalid(rangeError(0, maxSeconds))
  else if (prev !== undefined && prev < next) check.invalid('must be less than or equal to previous value')
  else return true
  return false
}

function validateTolerationsUpdate(next: V1PodSpec, prev: V1PodSpec, check: Check<unknown>, options: PodValidationOptions): void {
  const tolerations = next.tolerations ?? []
  // By their texts and not pair by pair: both lists are as long as a client made them.
  const textOf = ({ key = '', operator = '', value = '', effect = '' }: V1Toleration) => JSON.stringify([key, operator, value, effect])
  const kept = new Set(tolerations.map(textOf))
  if ((prev.tolerations ?? []).some((old) => !kept.has(textOf(old)))) {
    check.forbidden('existing toleration can not be modified except its tolerationSeconds')
    return
  }
  validateTolerations(check.with(tolerations), options)
}

function validateGatesUpdate(next: V1PodSpec, prev: V1PodSpec, check: Check<V1PodSchedulingGate[] | undefined>): void {
  const known = new Set((prev.schedulingGates ?? []).map(({ name }) => name))
  const added = new Map<string, number>()
  for (const [index, { name }] of (next.schedulingGates ?? []).entries()) if (!known.has(name)) added.set(name, index)
  for (const [name, index] of added) {
    check.at(index).at('name').forbidden(`only deletion is allowed, but found new scheduling gate '${name}'`)
  }
}

function validateRestUnchanged(check: Check<V1PodSpec>, prev: V1PodSpec): void {
  const next = check.value
  const munged: V1PodSpec = { ...next, containers: withImagesOf(next.containers, prev.containers) }
  if (next.initContainers) munged.initContainers = withImagesOf(next.initContainers, prev.initContainers)
  for (const field of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations'] as const) takeOver(munged, prev, field)
  if ((prev.terminationGracePeriodSeconds ?? 0) < 0 && munged.terminationGracePeriodSeconds === 1) {
    takeOver(munged, prev, 'terminationGracePeriodSeconds')
  }
  // Where a gated pod may run can still be narrowed: nothing has been decided by it yet.
  if (prev.schedulingGates?.length) {
    validateNarrowedSelector(check.with(munged), prev)
    validateNarrowedAffinity(check.with(munged), prev)
  }
  if (sameSpec(munged, prev)) return
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

function validateNarrowedSelector(check: Check<V1PodSpec>, prev: V1PodSpec): void {
  const munged = check.value
  if (sameSpec.at('nodeSelector')(munged.nodeSelector, prev.nodeSelector)) return
  const next = munged.nodeSelector ?? {}
  const lost = Object.entries(prev.nodeSelector ?? {}).some(([key, value]) => next[key] !== value)
  if (lost) {
    const message = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)'
    check.at('nodeSelector').invalid(message, asInternal('{s', munged.nodeSelector))
  }
  takeOver(munged, prev, 'nodeSelector')
}

function validateNarrowedAffinity(check: Check<V1PodSpec>, prev: V1PodSpec): void {
  const munged = check.value
  const old = prev.affinity?.nodeAffinity
  const next = munged.affinity?.nodeAffinity
  if (sameNodeAffinity(old, next)) return
  validateNodeAffinityUpdate(check.at('affinity').at('nodeAffinity'), old)
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

function validateNodeAffinityUpdate(check: Check<V1NodeAffinity | undefined>, prev: V1NodeAffinity | undefined): void {
  const next = check.value
  const required = prev?.requiredDuringSchedulingIgnoredDuringExecution
  if (required === undefined) return
  const oldTerms = required.nodeSelectorTerms ?? []
  const newTerms = next?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  if (oldTerms.length > 0 && oldTerms.length !== (newTerms?.length ?? 0)) {
    const message = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed'
    check
      .at('requiredDuringSchedulingIgnoredDuringExecution')
      .at('nodeSelectorTerms')
      .invalid(message, asInternal('[core.NodeSelectorTerm', newTerms))
    return
  }
  for (const [index, oldTerm] of oldTerms.entries()) {
    const newTerm = newTerms?.[index] ?? {}
    if (hasOnlyAdditions(newTerm, oldTerm)) continue
    const at = check.at('requiredDuringSchedulingIgnoredDuringExecution').at('nodeSelectorTerms').at(index)
    at.invalid('only additions are allowed (no mutations or deletions)', asInternal('core.NodeSelectorTerm', newTerm))
  }
}

/** Requirements of a term must all hold, so that adding one narrows; the empty term matches nothing, and adding to it widens. */
function hasOnlyAdditions(next: V1NodeSelectorTerm, prev: V1NodeSelectorTerm): boolean {
  const { matchExpressions = [], matchFields = [] } = prev
  const { matchExpressions: nextExpressions = [], matchFields: nextFields = [] } = next
  if (matchExpressions.length === 0 && matchFields.length === 0) return nextExpressions.length === 0 && nextFields.length === 0
  return (
    sameTerm.at('matchExpressions')(nextExpressions.slice(0, matchExpressions.length), matchExpressions) &&
    sameTerm.at('matchFields')(nextFields.slice(0, matchFields.length), matchFields)
  )
}
