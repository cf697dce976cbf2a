/** What a delete does to the object: goes at once, or stays for a while with a deletion timestamp. */

import { Check } from '#api/meta/check.ts'
import { validateDeleteOptions } from '#api/meta/request-options.ts'
import { conflict, invalid } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { V1DeleteOptions, V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { metadataOf } from '#apiserver/registry/metadata-of.ts'

export type GraceOutcome =
  /** There is no grace to give: delete, or wait for finalizers alone. */
  | 'none'
  /** The object was marked; it stays until its grace is over. */
  | 'marked'
  /** It is being deleted already, and this request changes nothing. */
  | 'pending'

/** Validates the options and, for kinds that end gracefully, marks `object` (a private copy). Sets `options.gracePeriodSeconds`. */
export function beforeDelete(
  definition: ResourceDefinition,
  object: KubernetesObject,
  options: V1DeleteOptions,
  nowMs: number,
): GraceOutcome {
  const check = new Check(options)
  validateDeleteOptions(check)
  if (check.failed) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', check.errors)
  const metadata = metadataOf(object)
  checkPreconditions(definition, metadata, options)
  if (options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0) options.gracePeriodSeconds = 1
  if ((metadata.deletionGracePeriodSeconds ?? 0) < 0) metadata.deletionGracePeriodSeconds = 1
  if (definition.prepareForDelete === undefined) return 'none'

  if (metadata.deletionTimestamp !== undefined) {
    const inForce = metadata.deletionGracePeriodSeconds ?? 0
    if (inForce === 0) return 'none'
    if (options.gracePeriodSeconds === undefined) {
      options.gracePeriodSeconds = inForce
      return 'pending'
    }
    return shortenGrace(metadata, options.gracePeriodSeconds, inForce, nowMs)
  }
  const graceSeconds = definition.prepareForDelete(object, options.gracePeriodSeconds)
  options.gracePeriodSeconds = graceSeconds
  metadata.deletionTimestamp = formatTime(nowMs + graceSeconds * 1000)
  metadata.deletionGracePeriodSeconds = graceSeconds
  if ((metadata.generation ?? 0) > 0) metadata.generation = (metadata.generation ?? 0) + 1
  return 'marked'
}

/** Grace may only get shorter. */
function shortenGrace(metadata: V1ObjectMeta, askedSeconds: number, inForce: number, nowMs: number): GraceOutcome {
  if (askedSeconds >= inForce) return 'pending'
  const startMs = Date.parse(metadata.deletionTimestamp ?? '') - inForce * 1000
  const endMs = startMs + askedSeconds * 1000
  metadata.deletionTimestamp = formatTime(Math.max(endMs, nowMs))
  metadata.deletionGracePeriodSeconds = endMs < nowMs && askedSeconds !== 0 ? 1 : askedSeconds
  return 'marked'
}

/** Throws a conflict where the object is not the one the deleter means. */
export function checkPreconditions(definition: ResourceDefinition, metadata: V1ObjectMeta, { preconditions }: V1DeleteOptions): void {
  const { uid, resourceVersion } = preconditions ?? {}
  // The kind where a resource is expected is upstream's way of saying it.
  const subject = { group: definition.group, resource: definition.kind }
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      subject,
      metadata.name ?? '',
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    )
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      subject,
      metadata.name ?? '',
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    )
  }
}

const orphanFinalizer = 'orphan'
const foregroundFinalizer = 'foregroundDeletion'

/** The finalizers the garbage collector will act on, or undefined when they are as they should be. */
export function garbageCollectionFinalizers(
  definition: ResourceDefinition,
  metadata: V1ObjectMeta,
  options: V1DeleteOptions,
): string[] | undefined {
  const current = metadata.finalizers ?? []
  const others = current.filter((each) => each !== orphanFinalizer && each !== foregroundFinalizer)
  const wanted = [...others]
  if (shouldOrphan(definition, current, options)) wanted.push(orphanFinalizer)
  if (shouldDeleteInForeground(definition, current, options)) wanted.push(foregroundFinalizer)
  const isSame = wanted.length === new Set(current).size && wanted.every((each) => current.includes(each))
  return isSame ? undefined : wanted
}

function shouldOrphan(definition: ResourceDefinition, finalizers: readonly string[], options: V1DeleteOptions): boolean {
  if (definition.defaultPropagation === 'Unsupported') return false
  if (options.orphanDependents !== undefined) return options.orphanDependents
  if (options.propagationPolicy !== undefined) return options.propagationPolicy === 'Orphan'
  for (const each of finalizers) {
    if (each === orphanFinalizer) return true
    if (each === foregroundFinalizer) return false
  }
  return definition.defaultPropagation === 'Orphan'
}

function shouldDeleteInForeground(definition: ResourceDefinition, finalizers: readonly string[], options: V1DeleteOptions): boolean {
  if (definition.defaultPropagation === 'Unsupported' || options.orphanDependents !== undefined) return false
  if (options.propagationPolicy !== undefined) return options.propagationPolicy === 'Foreground'
  for (const each of finalizers) {
    if (each === foregroundFinalizer) return true
    if (each === orphanFinalizer) return false
  }
  return false
}

/** Marks an object that only its finalizers keep. */
export function markAsDeleting(metadata: V1ObjectMeta, nowMs: number): void {
  if (metadata.deletionTimestamp === undefined && (metadata.generation ?? 0) > 0) metadata.generation = (metadata.generation ?? 0) + 1
  if (metadata.deletionTimestamp === undefined || Date.parse(metadata.deletionTimestamp) > nowMs)
    metadata.deletionTimestamp = formatTime(nowMs)
  metadata.deletionGracePeriodSeconds = 0
}
