/** Removes from a merged object what its applier spoke of last time and no longer does, unless others own it. */
import type { JsonObject } from '#api/meta/patch/json-value.ts'
import { differenceOf, emptySet, type FieldSet, intersectionOf, unionOf } from './field-set.ts'
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
export function prunedObject(merged: JsonObject, last: ManagedEntry, entries: ManagedEntries, versions: PruningVersions): JsonObject {
  const whole = named('failed to prune fields: failed to convert merged object to last applied version', () =>
    inVersion(merged, versions.apiVersion, last.apiVersion, versions),
  )
  if (whole === undefined) return merged
  const base: Base = { ...whole, version: last.apiVersion, paths: allPathsOf(whole.object, whole.type) }
  const lastPaths = withStructs(last.set, base.type)
  const owned = withOwned(base, removePaths(base.object, lastPaths, base.type), entries, versions)
  const rest = inVersion(owned.object, owned.version, base.version, versions)
  // What only the applier owned goes. Things that nobody owns stay, as long as what they are in stays.
  const givenUp = rest === undefined ? emptySet : intersectionOf(differenceOf(base.paths, allPathsOf(rest.object, base.type)), lastPaths)
  return inVersion(removePaths(base.object, givenUp, base.type), base.version, versions.apiVersion, versions)?.object ?? merged
}

/** The merged object in the version of the last apply, and all paths in it. */
type Base = VersionedObject & { readonly version: string; readonly paths: FieldSet }

function inVersion(object: JsonObject, from: string, to: string, versions: PruningVersions): VersionedObject | undefined {
  return from === to && to === versions.apiVersion ? { object, type: versions.type } : versions.convert(object, to)
}

type InVersion = { readonly object: JsonObject; readonly version: string }

/** Puts back what anybody owns, version by version; that of the last apply first, for others may not do without it. */
function withOwned(base: Base, pruned: JsonObject, entries: ManagedEntries, versions: PruningVersions): InVersion {
  const ownedAt = new Map<string, FieldSet>()
  for (const { apiVersion, set } of entries.values()) ownedAt.set(apiVersion, unionOf(ownedAt.get(apiVersion) ?? emptySet, set))
  const order = [...ownedAt.keys()].sort((left, right) => Number(right === base.version) - Number(left === base.version))
  let all: InVersion = base
  let current: InVersion = { object: pruned, version: base.version }
  for (const version of order) {
    const whole = inVersion(all.object, all.version, version, versions)
    const rest = inVersion(current.object, current.version, version, versions)
    if (whole === undefined || rest === undefined) continue
    const { object, type } = whole
    const kept = unionOf(allPathsOf(rest.object, type), withStructs(ownedAt.get(version) ?? emptySet, type))
    const surplus = differenceOf(object === base.object ? base.paths : allPathsOf(object, type), kept)
    current = { object: removePaths(object, surplus, type), version }
    all = { object, version }
  }
  return current
}
