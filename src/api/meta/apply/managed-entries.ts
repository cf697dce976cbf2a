/** The managedFields of an object, read for work on them and written back. */

import { equalJson } from '#api/meta/patch/json-value.ts'
import type { V1ManagedFieldsEntry } from '#api/meta/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { remembered } from '#base/remembered.ts'
import { atOnce, type Steps } from '#base/steps.ts'
import { emptySet, type FieldSet, ordered, uniting } from './field-set.ts'
import { compareTexts, goJson } from './path-element.ts'
import { readFieldSet } from './read-field-set.ts'

export type Operation = 'Apply' | 'Update'

/** Never changed; a change makes another. */
export type ManagedEntry = {
  readonly manager: string
  readonly operation: Operation
  readonly apiVersion: string
  readonly subresource: string
  /** RFC 3339, whole seconds, UTC. */
  readonly time: string | undefined
  readonly set: FieldSet
  /** What it was read from, if it was: its set is in order. */
  readonly stored?: V1ManagedFieldsEntry
}

/** By identity, see `identityOf`. */
export type ManagedEntries = Map<string, ManagedEntry>

/** Who did what where. An applier is one and the same whatever version it applies in. */
export function identityOf({ manager, operation, apiVersion, subresource }: Omit<ManagedEntry, 'set' | 'time' | 'stored'>): string {
  const parts = [`"operation":"${operation}"`]
  if (manager !== '') parts.unshift(`"manager":${jsonOf(manager)}`)
  if (operation === 'Update') parts.push(`"apiVersion":${jsonOf(apiVersion)}`)
  if (subresource !== '') parts.push(`"subresource":${jsonOf(subresource)}`)
  return `{${parts.join(',')}}`
}

const jsonOf = remembered(goJson)

/** Reads entries of the server's own writing: their sets are taken as they are. */
export function readStoredEntries(stored: readonly V1ManagedFieldsEntry[] | undefined): ManagedEntries {
  return atOnce(readingStoredEntries(stored))
}

/** As `readStoredEntries`, in steps. */
export function readingStoredEntries(stored: readonly V1ManagedFieldsEntry[] | undefined): Steps<ManagedEntries> {
  return readingEntries(stored ?? [], (entry) => entry.fieldsV1 ?? emptySet)
}

/** Reads entries that a client sent, which may be anything. */
function readingSentEntries(sent: readonly V1ManagedFieldsEntry[]): Steps<ManagedEntries> {
  return readingEntries(sent, (entry) => (entry.fieldsV1 === undefined ? emptySet : readFieldSet(entry.fieldsV1)))
}

function* readingEntries(stored: readonly V1ManagedFieldsEntry[], setOf: (entry: V1ManagedFieldsEntry) => FieldSet): Steps<ManagedEntries> {
  const entries: ManagedEntries = new Map()
  for (const [index, entry] of stored.entries()) {
    const { manager = '', operation, apiVersion = '', subresource = '', time, fieldsType } = entry
    if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Apply` or `Update`')
    if (apiVersion === '') throw new Error('apiVersion must not be empty')
    if (fieldsType === undefined || fieldsType === '') throw new Error(`missing fieldsType in managed fields entry ${index}`)
    if (fieldsType !== 'FieldsV1') throw new Error(`invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`)
    const set = setOf(entry)
    const read = { manager, operation, apiVersion, subresource, time, set, stored: entry } as const
    entries.set(identityOf(read), read)
    yield
  }
  return entries
}

export function withSet(entry: ManagedEntry, set: FieldSet): ManagedEntry {
  return set === entry.set ? entry : { ...entry, set }
}

/** What to store: appliers first, then the oldest; undefined if nobody owns anything. `previous` itself where nothing changed. */
export function writtenEntries(entries: ManagedEntries, previous?: V1ManagedFieldsEntry[]): V1ManagedFieldsEntry[] | undefined {
  return atOnce(writingEntries(entries, previous))
}

/** As `writtenEntries`, in steps. */
export function* writingEntries(entries: ManagedEntries, previous?: V1ManagedFieldsEntry[]): Steps<V1ManagedFieldsEntry[] | undefined> {
  if (entries.size === 0) return undefined
  const sorted = [...entries.values()].sort(compareEntries)
  const written: V1ManagedFieldsEntry[] = []
  for (const entry of sorted) {
    yield
    written.push(writtenEntry(entry))
  }
  const same = previous?.length === written.length && written.every((entry, index) => entry === previous[index])
  return same ? previous : written
}

function writtenEntry(entry: ManagedEntry): V1ManagedFieldsEntry {
  const { manager, operation, apiVersion, time, subresource, set, stored } = entry
  if (stored?.fieldsV1 === set && stored.time === time && stored.apiVersion === apiVersion) return stored
  return {
    ...omitEmpty({ manager }),
    operation,
    apiVersion,
    ...defined({ time: time === undefined ? undefined : wholeSeconds(time) }),
    fieldsType: 'FieldsV1',
    fieldsV1: ordered(set, stored?.fieldsV1),
    ...omitEmpty({ subresource }),
  }
}

function compareEntries(left: ManagedEntry, right: ManagedEntry): number {
  if (left.operation !== right.operation) return left.operation < right.operation ? -1 : 1
  return (
    compareTimes(left.time, right.time) ||
    compareTexts(left.manager, right.manager) ||
    compareTexts(left.apiVersion, right.apiVersion) ||
    compareTexts(left.subresource, right.subresource)
  )
}

/** By the second; entries without a time are the oldest. */
function compareTimes(left: string | undefined, right: string | undefined): number {
  return left === right ? 0 : compareTexts(left === undefined ? '' : wholeSeconds(left), right === undefined ? '' : wholeSeconds(right))
}

/** Clients may write times with a zone or fractions; here they have neither. */
function wholeSeconds(time: string): string {
  return time.length === 20 && time.endsWith('Z') ? time : readSeconds(time)
}

const readSeconds = remembered((time) => {
  const moment = new Date(time)
  return Number.isNaN(moment.getTime()) ? time : `${moment.toISOString().slice(0, 19)}Z`
})

const maxUpdaters = 10
const oldUpdaters = 'ancient-changes'

/** Merges the oldest of too many updaters, one bucket for each version. Changes `entries`. */
export function* cappingUpdaters(entries: ManagedEntries): Steps<void> {
  const updaters = [...entries].filter(([, entry]) => entry.operation === 'Update')
  let surplus = updaters.length - maxUpdaters
  if (surplus <= 0) return
  updaters.sort(([leftId, left], [rightId, right]) => compareTimes(left.time, right.time) || compareTexts(leftId, rightId))
  yield
  const oldest = new Map<string, string>()
  const buckets = new Map<string, { bucket: Omit<ManagedEntry, 'set'>; sets: FieldSet[] }>()
  for (const [identity, entry] of updaters) {
    if (surplus <= 0) break
    const { apiVersion, time } = entry
    const first = oldest.get(apiVersion)
    if (first === undefined) {
      oldest.set(apiVersion, identity)
      continue
    }
    const bucket = { manager: oldUpdaters, operation: 'Update', apiVersion, subresource: '', time } as const
    const bucketId = identityOf(bucket)
    const older = buckets.get(bucketId)?.sets ?? [(entries.get(bucketId) ?? entries.get(first))?.set ?? emptySet]
    if (!buckets.has(bucketId) && !entries.has(bucketId)) entries.delete(first)
    entries.delete(identity)
    older.push(entry.set)
    buckets.set(bucketId, { bucket, sets: older })
    surplus--
    yield
  }
  for (const [bucketId, { bucket, sets }] of buckets) entries.set(bucketId, { ...bucket, set: yield* uniting(sets) })
}

/** Whether a client asks to forget all owners: an empty list, or one entry that says nothing. */
function isReset(sent: readonly V1ManagedFieldsEntry[] | undefined): boolean {
  if (sent === undefined) return false
  if (sent.length === 0) return true
  const [only] = sent
  return sent.length === 1 && only !== undefined && Object.values(only).every((value) => value === '' || value == null)
}

/** The entries to go on with: those the client sent if they can be read, else those of the live object. */
export function* entriesOfUpdate(
  live: readonly V1ManagedFieldsEntry[] | undefined,
  sent: readonly V1ManagedFieldsEntry[] | undefined,
): Steps<ManagedEntries> {
  if (isReset(sent)) return new Map()
  if (sent !== undefined && !equalJson(sent, live)) {
    const entries = yield* readable(readingSentEntries(sent))
    if (entries !== undefined && entries.size > 0) return entries
  }
  return (yield* readable(readingStoredEntries(live))) ?? new Map()
}

function* readable(reading: Steps<ManagedEntries>): Steps<ManagedEntries | undefined> {
  try {
    return yield* reading
  } catch {
    return undefined
  }
}
