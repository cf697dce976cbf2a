/** How a write moves fields from owner to owner. */
import { equalJson, type JsonObject } from '#api/meta/patch/json-value.ts'
import type { Steps } from '#base/steps.ts'
import { type Comparison, compareObjects } from './compare.ts'
import { conflictError } from './conflict.ts'
import type { FieldFilter } from './field-filter.ts'
import { differenceOf, emptySet, type FieldSet, isEmptySet, isSubset, unionOf } from './field-set.ts'
import { fieldSetInSteps } from './field-set-of.ts'
import { ComparedSet } from './indexed-set.ts'
import { type ManagedEntries, type ManagedEntry, withSet } from './managed-entries.ts'
import { mergeObjects } from './merge-objects.ts'
import type { MergeType } from './merge-type.ts'
import { named } from './named-failure.ts'
import { type PruningVersions, pruning } from './prune.ts'
import { reconciled } from './schema-fit.ts'

/** An object in one version of its kind. */
export type VersionedObject = { readonly object: JsonObject; readonly type: MergeType }

export type OwnershipContext = PruningVersions & {
  readonly apiVersion: string
  readonly type: MergeType
  filterAt(apiVersion: string): FieldFilter | undefined
  /** Without what nobody can own. */
  ownable(set: FieldSet): FieldSet
}

/** The entries fitted to the schema, without those of versions that are gone. */
export function* currentEntries(entries: ManagedEntries, live: JsonObject, context: OwnershipContext): Steps<ManagedEntries> {
  const current: ManagedEntries = new Map()
  const types = new Map<string, MergeType | undefined>([[context.apiVersion, context.type]])
  for (const [identity, entry] of entries) {
    const { apiVersion } = entry
    if (!types.has(apiVersion)) types.set(apiVersion, context.convert(live, apiVersion)?.type)
    const type = types.get(apiVersion)
    if (type !== undefined) current.set(identity, withSet(entry, reconciled(entry.set, type)))
    yield
  }
  return current
}

/** Takes what the update changed from its owners in `entries`, which it changes; returns what the updater owns of it. */
export function* takeChanges(live: JsonObject, next: JsonObject, entries: ManagedEntries, context: OwnershipContext): Steps<FieldSet> {
  const comparisons = new Comparisons(live, next, context, entries.size)
  for (const [identity, entry] of entries) {
    const changes = comparisons.at(entry.apiVersion)
    yield
    const set = changes?.touched.differenceFrom(entry.set)
    if (set === undefined || isEmptySet(set)) entries.delete(identity)
    else if (set !== entry.set) entries.set(identity, withSet(entry, set))
  }
  const changes = comparisons.at(context.apiVersion)
  yield
  return context.ownable(changes?.changed.set ?? emptySet)
}

export type Applied = { entries: ManagedEntries; object: JsonObject /** Whether the object is what it was before. */; same: boolean }

/**
 * Applies the configuration: merges it, removes what its applier gave up, settles who owns what.
 * `applier` comes with an empty set. Throws an ApplyConflictError where others own what changes, unless forced.
 */
export function* applyConfig(
  live: JsonObject,
  config: JsonObject,
  entries: ManagedEntries,
  applier: { identity: string; entry: ManagedEntry },
  context: OwnershipContext & { force: boolean },
): Steps<Applied> {
  const { identity } = applier
  const last = entries.get(identity)
  const all = yield* fieldSetInSteps(config, context.type)
  yield
  const spoken = context.filterAt(context.apiVersion)?.(all) ?? all
  const set = context.ownable(spoken)
  // Whoever still speaks of all he spoke of last time gave nothing up.
  const keepsAll = last === undefined || (last.apiVersion === context.apiVersion && isSubset(last.set, set))
  const settled: ManagedEntries = new Map(entries)
  yield
  let object = mergeObjects(live, config, context.type)
  yield
  if (!keepsAll && !isEmptySet(last.set)) {
    // With what nobody can own, such as the name: it keeps the metadata from being pruned.
    settled.set(identity, { ...applier.entry, set: spoken })
    object = yield* pruning(object, last, settled, context)
    yield
  }
  settled.set(identity, { ...applier.entry, set: last !== undefined && keepsAll && isSubset(set, last.set) ? last.set : set })
  const comparisons = new Comparisons(live, object, context, settled.size)
  const conflicts: { owner: ManagedEntry; fields: FieldSet }[] = []
  for (const [owner, entry] of settled) {
    if (owner === identity) continue
    const changes = comparisons.at(entry.apiVersion)
    yield
    if (changes === undefined) {
      settled.delete(owner)
      continue
    }
    const fields = changes.changed.intersectionWith(entry.set)
    if (!isEmptySet(fields)) conflicts.push({ owner: entry, fields })
    settled.set(owner, withSet(entry, changes.removed.differenceFrom(differenceOf(entry.set, fields))))
  }
  if (conflicts.length > 0 && !context.force) throw conflictError(conflicts)
  for (const [owner, entry] of settled) if (isEmptySet(entry.set)) settled.delete(owner)
  const unchanged = comparisons.at(context.apiVersion)
  yield
  return { entries: settled, object, same: unchanged?.isSame === true && equalJson(live, object) }
}

type Changes = { removed: ComparedSet; changed: ComparedSet; touched: ComparedSet; isSame: boolean }

/** The changes of a write as each version of the kind shows them. */
class Comparisons {
  readonly #live: JsonObject
  readonly #next: JsonObject
  readonly #context: OwnershipContext
  readonly #found = new Map<string, Changes | undefined>()
  /** With how many entries they will be compared. */
  readonly #uses: number

  constructor(live: JsonObject, next: JsonObject, context: OwnershipContext, uses: number) {
    this.#uses = uses
    this.#live = live
    this.#next = next
    this.#context = context
  }

  /** Undefined for versions that are gone. */
  at(apiVersion: string): Changes | undefined {
    if (this.#found.has(apiVersion)) return this.#found.get(apiVersion)
    const changes = this.#compare(apiVersion)
    this.#found.set(apiVersion, changes)
    return changes
  }

  #compare(apiVersion: string): Changes | undefined {
    const comparison = this.#comparison(apiVersion)
    if (comparison === undefined) return undefined
    const filter = this.#context.filterAt(apiVersion)
    const isSame = isEmptySet(comparison.removed) && isEmptySet(comparison.modified) && isEmptySet(comparison.added)
    const all = unionOf(comparison.modified, comparison.added)
    const changed = filter === undefined ? all : filter(all)
    const removed = filter === undefined ? comparison.removed : filter(comparison.removed)
    const compared = (set: FieldSet) => new ComparedSet(set, this.#uses)
    return { removed: compared(removed), changed: compared(changed), touched: compared(unionOf(changed, removed)), isSame }
  }

  #comparison(apiVersion: string): Comparison | undefined {
    const { type, convert } = this.#context
    if (apiVersion === this.#context.apiVersion) return compareObjects(this.#live, this.#next, type)
    const before = named('failed to convert old object', () => convert(this.#live, apiVersion))
    const after = named('failed to convert new object', () => convert(this.#next, apiVersion))
    return before === undefined || after === undefined ? undefined : compareObjects(before.object, after.object, after.type)
  }
}
