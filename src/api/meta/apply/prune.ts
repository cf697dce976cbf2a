/** Removes from a merged object what its applier spoke of last time and no longer does, unless others own it. */
import type { JsonObject } from '#api/meta/patch/json-value.ts'
import type { Steps } from '#base/steps.ts'
import { differenceOf, emptySet, type FieldSet, intersectionOf, unionOf, uniting } from './field-set.ts'
import { allPathsOf } from './field-set-of.ts'
import type { ManagedEntries, ManagedEntry } from './managed-entries.ts'
import type { MergeType } from './merge-type.ts'
import { named } from './named-failure.ts'
import type { VersionedObject } from './ownership.ts'
import { removePaths } from './remove-paths.ts'
import { withStructs } from './schema-fit.ts'

export type PruningVersions = {
  /** The version the object is in. */
  readonly apiVersion: string
  readonly type: MergeType
  /** The object in another version; undefined if that is served no more. */
  convert(object: JsonObject, apiVersion: string): VersionedObject | undefined
}

/** `entries` hold the applier's new set already; `last` is what it owned before. */
export function* pruning(merged: JsonObject, last: ManagedEntry, entries: ManagedEntries, versions: PruningVersions): Steps<JsonObject> {
  const whole = named('failed to prune fields: failed to convert merged object to last applied version', () =>
    inVersion(merged, versions.apiVersion, last.apiVersion, versions),
  )
  if (whole === undefined) return merged
  const base: Base = { ...whole, version: last.apiVersion, paths: allPathsOf(whole.object, whole.type) }
  const lastPaths = withStructs(last.set, base.type)
  const owned = yield* withOwned(base, removePaths(base.object, lastPaths, base.type), entries, versions)
  yield
  const rest = inVersion(owned.object, owned.version, base.version, versions)
  // What only the applier owned goes. Things that nobody owns stay, as long as what they are in stays.
  const left = rest && allPathsOf(rest.object, base.type)
  yield
  const givenUp = left === undefined ? emptySet : intersectionOf(differenceOf(base.paths, left), lastPaths)
  yield
  return inVersion(removePaths(base.object, givenUp, base.type), base.version, versions.apiVersion, versions)?.object ?? merged
}

/** The merged object in the version of the last apply, and all paths in it. */
type Base = VersionedObject & { readonly version: string; readonly paths: FieldSet }

function inVersion(object: JsonObject, from: string, to: string, versions: PruningVersions): VersionedObject | undefined {
  return from === to && to === versions.apiVersion ? { object, type: versions.type } : versions.convert(object, to)
}

type InVersion = { readonly object: JsonObject; readonly version: string }

/** Puts back what anybody owns, version by version; that of the last apply first, for others may not do without it. */
function* withOwned(base: Base, pruned: JsonObject, entries: ManagedEntries, versions: PruningVersions): Steps<InVersion> {
  const ownedAt = Map.groupBy(entries.values(), ({ apiVersion }) => apiVersion)
  const order = [...ownedAt.keys()].sort((left, right) => Number(right === base.version) - Number(left === base.version))
  let whole: InVersion = base
  let current: InVersion = { object: pruned, version: base.version }
  for (const version of order) {
    const ownedSets = ownedAt.get(version) ?? []
    const owned = yield* uniting(ownedSets.map(({ set }) => set))
    yield
    const now = inVersion(whole.object, whole.version, version, versions)
    const rest = inVersion(current.object, current.version, version, versions)
    if (now === undefined || rest === undefined) continue
    const { object, type } = now
    const paths = allPathsOf(rest.object, type)
    yield
    const kept = unionOf(paths, withStructs(owned, type))
    yield
    const all = object === base.object ? base.paths : allPathsOf(object, type)
    yield
    const surplus = differenceOf(all, kept)
    yield
    current = { object: removePaths(object, surplus, type), version }
    whole = { object, version }
  }
  return current
}
