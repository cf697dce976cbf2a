/** Removes from a merged object what its applier spoke of last time and no longer does, unless others own it. */
import type { JsonObject } from '#api/meta/patch/json-value.ts'
import { differenceOf, emptySet, type FieldSet, intersectionOf, unionOf } from './field-set.ts'
import { fieldSetOf } from './field-set-of.ts'
import type { ManagedEntries, ManagedEntry } from './managed-entries.ts'
import type { MergeType } from './merge-type.ts'
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
  const pruning = new Pruning(versions)
  const base = pruning.at(merged, versions.apiVersion, last.apiVersion)
  if (base === undefined) return merged
  const withoutLast = removePaths(base.object, withStructs(last.set, base.type), base.type)
  const owned = pruning.withOwned(base, withoutLast, last.apiVersion, entries)
  const given = pruning.givenUp(base, owned, last)
  const rest = removePaths(base.object, given, base.type)
  return pruning.at(rest, last.apiVersion, versions.apiVersion)?.object ?? merged
}

class Pruning {
  readonly #versions: PruningVersions

  constructor(versions: PruningVersions) {
    this.#versions = versions
  }

  at(object: JsonObject, from: string, to: string): VersionedObject | undefined {
    if (from !== to) return this.#versions.convert(object, to)
    return from === this.#versions.apiVersion ? { object, type: this.#versions.type } : this.#versions.convert(object, to)
  }

  /** Puts back what anybody owns, version by version; the version that was pruned first, for others may not do without it. */
  withOwned(base: VersionedObject, pruned: JsonObject, version: string, entries: ManagedEntries): { object: JsonObject; version: string } {
    const ownedAt = new Map<string, FieldSet>()
    for (const { apiVersion, set } of entries.values()) ownedAt.set(apiVersion, unionOf(ownedAt.get(apiVersion) ?? emptySet, set))
    const order = [...ownedAt.keys()].sort((left, right) => Number(right === version) - Number(left === version))
    let current = { object: pruned, version }
    let all = { object: base.object, version }
    for (const apiVersion of order) {
      const whole = this.at(all.object, all.version, apiVersion)
      const rest = this.at(current.object, current.version, apiVersion)
      if (whole === undefined || rest === undefined) continue
      const owned = withStructs(ownedAt.get(apiVersion) ?? emptySet, whole.type)
      const kept = unionOf(withStructs(fieldSetOf(rest.object, whole.type), whole.type), owned)
      const surplus = differenceOf(withStructs(fieldSetOf(whole.object, whole.type), whole.type), kept)
      current = { object: removePaths(whole.object, surplus, whole.type), version: apiVersion }
      all = { object: whole.object, version: apiVersion }
    }
    return current
  }

  /** What only the applier owned. Things that nobody owns stay, as long as what they are in stays. */
  givenUp(base: VersionedObject, owned: { object: JsonObject; version: string }, last: ManagedEntry): FieldSet {
    const rest = this.at(owned.object, owned.version, last.apiVersion)
    if (rest === undefined) return emptySet
    const kept = withStructs(fieldSetOf(rest.object, base.type), base.type)
    const all = withStructs(fieldSetOf(base.object, base.type), base.type)
    return intersectionOf(differenceOf(all, kept), withStructs(last.set, base.type))
  }
}
