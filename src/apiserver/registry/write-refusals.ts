/** Why a write is refused, in upstream's words. The subject is as the client named it: two groups may share one registry. */
import { quoted } from '#api/meta/check.ts'
import type { GroupResource } from '#api/meta/gvk.ts'
import { alreadyExists, conflict, invalid, unknownFailure } from '#api/meta/status-error.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'

/** Somebody created it first. */
export class AlreadyThere extends Error {
  readonly existing: CachedObject | undefined
  constructor(existing: CachedObject | undefined) {
    super('the object exists')
    this.existing = existing
  }
}

export function changedMeanwhile(name: string, { resource }: WriteContext): Error {
  return conflict(resource, name, 'the object has been modified; please apply your changes to the latest version and try again')
}

export function exists({ existing }: AlreadyThere, name: string, { resource }: WriteContext): Error {
  const error = alreadyExists(resource, name)
  if (existing?.object.metadata?.deletionTimestamp) {
    error.status.message = `object is being deleted: ${error.status.message}`
  }
  return error
}

export function needsResourceVersion({ group, plural }: ResourceDefinition, name: string): Error {
  return invalid({ group, kind: plural }, name, [
    { type: 'FieldValueInvalid', field: 'metadata.resourceVersion', body: 'Invalid value: 0: must be specified for an update' },
  ])
}

export function checkUid(asked: string | undefined, prev: CachedObject, name: string, subject: GroupResource): void {
  const uid = prev.object.metadata?.uid ?? ''
  if (!asked || asked === uid) return
  throw conflict(
    subject,
    name,
    `StorageError: invalid object, Code: 4, Key: ${prev.key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${asked}, UID in object meta: ${uid}`,
  )
}

export function checkResourceVersion(asked: string | undefined): void {
  if (!asked || /^\d+$/.test(asked)) return
  throw unknownFailure(`strconv.ParseUint: parsing ${quoted(asked)}: invalid syntax`)
}
