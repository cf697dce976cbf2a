/** Keeps managedFields: who last set which field of an object, and what an applier may change. */

import type { Equality } from '#api/meta/equality.ts'
import { equalJson, isDeeperThan, isObject, type JsonObject, maxDepth } from '#api/meta/patch/json-value.ts'
import { PatchError } from '#api/meta/patch/patch-error.ts'
import type { V1ManagedFieldsEntry } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { errorMessage } from '#base/error-message.ts'
import { atOnce, type Steps } from '#base/steps.ts'
import { ApplyConflictError } from './conflict.ts'
import type { FieldFilter } from './field-filter.ts'
import { differenceOf, emptySet, isEmptySet, setOfPaths, unionOf } from './field-set.ts'
import { fieldsOfLastApplied, kubectl, refreshLastApplied } from './last-applied.ts'
import {
  cappingUpdaters,
  entriesOfUpdate,
  identityOf,
  type ManagedEntries,
  type ManagedEntry,
  readingStoredEntries,
  withSet,
  writingEntries,
} from './managed-entries.ts'
import type { MergeType } from './merge-type.ts'
import { applyConfig, currentEntries, type OwnershipContext, takeChanges, type VersionedObject } from './ownership.ts'
import { fieldElement } from './path-element.ts'
import { typeErrorsInSteps } from './type-check.ts'

export type FieldManagerOptions = {
  /** `apps/v1` */
  apiVersion: string
  kind: string
  /** Of the kind in this version; `deducedType` without a schema. */
  type: MergeType
  /** An object nobody wrote to yet, see `emptyObject`. */
  empty?: JsonObject
  /** The endpoint's: empty for the object itself. */
  subresource?: string
  /** What writes through this endpoint can own, in the words of that version. */
  filterAt?(apiVersion: string): FieldFilter | undefined
  /** Told when an update leaves its object without owners because they could not be worked out. */
  onUntracked?(error: unknown): void
  /** Objects need not have the shape their type asks for: of those that have not, nobody knows who owns what. */
  mayMisfit?: boolean
  /** The object in another version of its kind; undefined if that is served no more. Throws where it has no place in that. */
  convert?(object: JsonObject, apiVersion: string): VersionedObject | undefined
}

export type UpdateOptions = { manager: string /** RFC 3339, whole seconds, UTC. */; time: string }
export type ApplyOptions = UpdateOptions & { force?: boolean }

/** Never owned by anybody. */
const unowned = setOfPaths(
  [
    'apiVersion',
    'kind',
    'metadata',
    'metadata.name',
    'metadata.namespace',
    'metadata.creationTimestamp',
    'metadata.selfLink',
    'metadata.uid',
    'metadata.clusterName',
    'metadata.generation',
    'metadata.managedFields',
    'metadata.resourceVersion',
  ].map((path) => path.split('.').map(fieldElement)),
)

/** One for each kind, version and endpoint. Live objects are never changed and may be frozen. */
export class FieldManager {
  readonly #apiVersion: string
  readonly #kind: string
  readonly #empty: JsonObject
  readonly #subresource: string
  readonly #context: OwnershipContext
  readonly #mayMisfit: boolean
  readonly #onUntracked: ((error: unknown) => void) | undefined

  constructor({ apiVersion, kind, type, empty, subresource = '', filterAt, convert, onUntracked, mayMisfit = false }: FieldManagerOptions) {
    this.#mayMisfit = mayMisfit
    this.#onUntracked = onUntracked
    this.#apiVersion = apiVersion
    this.#kind = kind
    this.#empty = { ...empty, apiVersion, kind }
    this.#subresource = subresource
    this.#context = {
      apiVersion,
      type,
      filterAt: filterAt ?? (() => undefined),
      convert: convert ?? (() => undefined),
      ownable: (set) => differenceOf(set, unowned),
    }
  }

  /**
   * Tracks a create (without `live`), update or patch: sets the managedFields of `next`, which is private and may be
   * changed, and returns it. What the client wrote into them counts if it can be read, except through a subresource.
   */
  updated<T extends KubernetesObject>(live: KubernetesObject | undefined, next: T, options: UpdateOptions): T {
    return atOnce(this.updating(live, next, options))
  }

  /** As `updated`, in steps. */
  *updating<T extends KubernetesObject>(live: KubernetesObject | undefined, next: T, { manager, time }: UpdateOptions): Steps<T> {
    const { metadata } = next
    if (metadata === undefined) return next
    const previous = live?.metadata?.managedFields
    const entries = yield* entriesOfUpdate(previous, this.#subresource === '' ? metadata.managedFields : undefined)
    delete metadata.managedFields
    // Objects that nobody applied to, and that were not tracked from the start, stay untracked.
    const isCreate = (live?.metadata?.uid ?? '') === ''
    if (entries.size === 0 && !isCreate) return next
    try {
      const before = live === undefined ? this.#empty : withoutManagedFields(live)
      if (this.#mayMisfit) {
        for (const object of [before, next as JsonObject]) {
          yield* this.#requireShape(object)
          yield
        }
      }
      const tracked = yield* this.#track(before, next as JsonObject, entries, manager, time)
      const written = yield* writingEntries(tracked, previous)
      if (written !== undefined) metadata.managedFields = written
    } catch (error) {
      // Items without keys cannot be told apart: rather no owners than wrong ones.
      this.#onUntracked?.(error)
    }
    return next
  }

  /**
   * Merges an applied configuration into the live object, or makes the object of it. The result, which is private, has
   * yet to be decoded and defaulted like one of a request. Throws PatchError and ApplyConflictError.
   */
  applied(live: KubernetesObject | undefined, config: object, options: ApplyOptions): KubernetesObject {
    return atOnce(this.applying(live, config, options))
  }

  /** As `applied`, in steps. */
  *applying(live: KubernetesObject | undefined, config: object, { manager, time, force = false }: ApplyOptions): Steps<KubernetesObject> {
    const patch = config as JsonObject
    if (isDeeperThan(patch, maxDepth)) throw new PatchError('badRequest', 'exceeded max depth')
    this.#requireOwnKind(patch)
    const stored = yield* this.#storedEntries(live)
    const base = live === undefined ? { apiVersion: this.#apiVersion, kind: this.#kind } : withoutManagedFields(live)
    const apply = (forced: boolean) => this.#apply(base, patch, stored, { manager, time, force: forced })
    let result: KubernetesObject
    try {
      result = yield* apply(force)
    } catch (error) {
      if (!(error instanceof ApplyConflictError) || manager !== kubectl) throw error
      const allowed = fieldsOfLastApplied(base, this.#apiVersion, this.#context.type)
      const left = allowed === undefined ? error : error.without(allowed)
      if (left !== undefined) throw left
      result = yield* apply(true)
    }
    if (manager === kubectl) refreshLastApplied(result as JsonObject, patch)
    return result
  }

  *#requireShape(object: JsonObject): Steps<void> {
    const errors = yield* typeErrorsInSteps(object, this.#context.type, { duplicates: true })
    if (errors !== undefined) throw new Error(errors)
  }

  *#track(live: JsonObject, next: JsonObject, entries: ManagedEntries, manager: string, time: string): Steps<ManagedEntries> {
    const current = yield* currentEntries(entries, live, this.#context)
    yield
    const taken = yield* takeChanges(live, next, current, this.#context)
    yield
    if (!isEmptySet(taken)) {
      const entry = this.#entry(manager, 'Update')
      const identity = identityOf(entry)
      const previous = current.get(identity)
      const merged = previous === undefined ? { ...entry, set: taken } : withSet(previous, unionOf(previous.set, taken))
      current.set(identity, { ...merged, time })
    }
    yield* cappingUpdaters(current)
    yield
    return current
  }

  *#apply(
    live: JsonObject,
    config: JsonObject,
    stored: ManagedEntries,
    { manager, time, force = false }: ApplyOptions,
  ): Steps<KubernetesObject> {
    const tracked = stored.size > 0 ? stored : yield* this.#trackedBefore(live, stored, time)
    yield
    yield* this.#requireFitting(config)
    yield
    yield* this.#requireReadable(live, 'failed to create typed live object (', ')')
    yield
    const entry = this.#entry(manager, 'Apply')
    const identity = identityOf(entry)
    const current = yield* currentEntries(tracked, live, this.#context)
    const applier = { identity, entry: current.get(identity) ?? entry }
    const { entries, object, same } = yield* this.#settled(applyConfig(live, config, current, applier, { ...this.#context, force }))
    yield
    const own = entries.get(identity)
    if (own !== undefined) {
      entries.set(identity, { ...own, apiVersion: this.#apiVersion, time: same ? own.time : time })
    }
    const result = object as KubernetesObject
    const written = yield* writingEntries(entries)
    if (written !== undefined && result.metadata !== undefined) result.metadata.managedFields = written
    return result
  }

  /** Owners for what was there before anybody applied. */
  *#trackedBefore(live: JsonObject, stored: ManagedEntries, time: string): Steps<ManagedEntries> {
    yield* this.#requireReadable(live, 'failed to create manager for existing fields: failed to convert new object (', ') to smd typed')
    yield
    return yield* this.#track(this.#empty, live, stored, 'before-first-apply', time)
  }

  /** Objects may have been stored whose items lack their keys: nothing can be merged into those. */
  *#requireReadable(live: JsonObject, before: string, after: string): Steps<void> {
    const errors = yield* typeErrorsInSteps(live, this.#context.type, { duplicates: true })
    if (errors !== undefined) throw new PatchError('internal', `${before}${this.#subject(live)}${after}: ${errors}`)
  }

  *#settled<T>(steps: Steps<T>): Steps<T> {
    try {
      return yield* steps
    } catch (error) {
      if (error instanceof ApplyConflictError || error instanceof PatchError) throw error
      throw new PatchError('internal', `failed to merge config: ${errorMessage(error)}`)
    }
  }

  #entry(manager: string, operation: ManagedEntry['operation']): ManagedEntry {
    return {
      manager: manager === '' ? 'unknown' : manager,
      operation,
      apiVersion: this.#apiVersion,
      subresource: this.#subresource,
      time: undefined,
      set: emptySet,
    }
  }

  *#storedEntries(live: KubernetesObject | undefined): Steps<ManagedEntries> {
    try {
      return yield* readingStoredEntries(live?.metadata?.managedFields)
    } catch (error) {
      throw new PatchError('internal', `failed to decode managed fields: ${(error as Error).message}`)
    }
  }

  #requireOwnKind(config: JsonObject): void {
    const [apiVersion, kind] = [textOf(config['apiVersion']), textOf(config['kind'])]
    if (apiVersion !== this.#apiVersion || kind !== this.#kind) {
      throw new PatchError('badRequest', `invalid object type: ${groupVersion(apiVersion)}, Kind=${kind}`)
    }
  }

  *#requireFitting(config: JsonObject): Steps<void> {
    const metadata = isObject(config['metadata']) ? config['metadata'] : {}
    const { managedFields } = metadata
    if (Array.isArray(managedFields) && managedFields.every(isObject)) {
      throw new PatchError('badRequest', 'metadata.managedFields must be nil')
    }
    const errors = yield* typeErrorsInSteps(config, this.#context.type)
    if (errors === undefined) return
    throw new PatchError('internal', `failed to create typed patch object (${this.#subject(config)}): ${errors}`)
  }

  #subject(object: JsonObject): string {
    const metadata = isObject(object['metadata']) ? object['metadata'] : {}
    const [namespace, name] = [textOf(metadata['namespace']), textOf(metadata['name'])]
    return `${namespace}/${name}; ${groupVersion(this.#apiVersion)}, Kind=${this.#kind}`
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Errors write the core group as an empty name before the slash. */
function groupVersion(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
}

/** Sharing everything else with the object. */
function withoutManagedFields(object: KubernetesObject): JsonObject {
  const { metadata } = object
  if (metadata?.managedFields === undefined) return object as JsonObject
  const { managedFields: _, ...rest } = metadata
  return { ...object, metadata: rest } as JsonObject
}

/**
 * Gives `next` back the times of `live` where nothing but times differs, so that a write that changes nothing stays
 * without effect. Changes `next`. To be called on the object as it would be stored. Owners are in the order of their
 * times, so a new time may also have moved one: they are compared by who they are.
 */
export function keepTimesOfNoop(live: KubernetesObject, next: KubernetesObject, same: Equality<KubernetesObject>): void {
  const before = live.metadata?.managedFields
  const after = next.metadata?.managedFields
  if (before === undefined || after === undefined || before === after || before.length !== after.length || next.metadata === undefined)
    return
  if (after.every((entry, index) => entry.time === before[index]?.time)) return
  const known = new Map(before.map((entry) => [ownerKey(entry), entry]))
  const sameOwners = after.every((entry) => {
    const key = ownerKey(entry)
    const other = known.get(key)
    return other !== undefined && known.delete(key) && equalJson({ ...entry, time: '' }, { ...other, time: '' })
  })
  if (sameOwners && same(withoutManagedFields(live), withoutManagedFields(next))) next.metadata.managedFields = before
}

const ownerKey = ({ operation, manager, apiVersion, subresource }: V1ManagedFieldsEntry): string =>
  JSON.stringify([operation, manager, apiVersion, subresource])
