/** The managedFields of an object, read for work on them and written back. */

import { equalJson } from '#api/meta/patch/json-value.ts'
import type { V1ManagedFieldsEntry } from '#api/meta/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { remembered } from '#base/remembered.ts'
import { emptySet, type FieldSet, ordered, unionOf } from './field-set.ts'
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
  return readEntries(stored ?? [], (entry) => entry.fieldsV1 ?? emptySet)
}

/** Reads entries that a client sent, which may be anything. */
function readSentEntries(sent: readonly V1ManagedFieldsEntry[]): ManagedEntries {
  return readEntries(sent, (entry) => (entry.fieldsV1 === undefined ? emptySet : readFieldSet(entry.fieldsV1)))
}

function readEntries(stored: readonly V1ManagedFieldsEntry[], setOf: (entry: V1ManagedFieldsEntry) => FieldSet): ManagedEntries {
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
  }
  return entries
}

export function withSet(entry: ManagedEntry, set: FieldSet): ManagedEntry {
  return set === entry.set ? entry : { ...entry, set }
}

/** What to store: appliers first, then the oldest; undefined if nobody owns anything. `previous` itself where nothing changed. */
export function writtenEntries(entries: ManagedEntries, previous?: V1ManagedFieldsEntry[]): V1ManagedFieldsEntry[] | undefined {
  if (entries.size === 0) return undefined
  const sorted = [...entries.values()].sort(compareEntries)
  const written = sorted.map(writtenEntry)
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
  if (time.length === 20 && time.endsWith('Z')) return time
  const moment = new Date(time)
  return Number.isNaN(moment.getTime()) ? time : `${moment.toISOString().slice(0, 19)}Z`
}

const maxUpdaters = 10
const oldUpdaters = 'ancient-changes'

/** Merges the oldest of too many updaters, one bucket for each version. Changes `entries`. */
export function capUpdaters(entries: ManagedEntries): void {
  const updaters = [...entries].filter(([, entry]) => entry.operation === 'Update')
  let surplus = updaters.length - maxUpdaters
  if (surplus <= 0) return
  updaters.sort(([leftId, left], [rightId, right]) => compareTimes(left.time, right.time) || compareTexts(leftId, rightId))
  const oldest = new Map<string, string>()
  for (const [identity, entry] of updaters) {
    if (surplus <= 0) return
    const { apiVersion } = entry
    const first = oldest.get(apiVersion)
    if (first === undefined) {
      oldest.set(apiVersion, identity)
      continue
    }
    const bucket = { manager: oldUpdaters, operation: 'Update', apiVersion, subresource: '' } as const
    const bucketId = identityOf(bucket)
    const older = entries.get(bucketId) ?? entries.get(first)
    if (!entries.has(bucketId)) entries.delete(first)
    entries.delete(identity)
    entries.set(bucketId, { ...bucket, time: entry.time, set: unionOf(entry.set, older?.set ?? emptySet) })
    surplus--
  }
}

/** Whether a client asks to forget all owners: an empty list, or one entry that says nothing. */
function isReset(sent: readonly V1ManagedFieldsEntry[] | undefined): boolean {
  if (sent === undefined) return false
  if (sent.length === 0) return true
  const [only] = sent
  return sent.length === 1 && only !== undefined && Object.values(only).every((value) => value === '' || value == null)
}

/** The entries to go on with: those the client sent if they can be read, else those of the live object. */
export function entriesOfUpdate(
  live: readonly V1ManagedFieldsEntry[] | undefined,
  sent: readonly V1ManagedFieldsEntry[] | undefined,
): ManagedEntries {
  if (isReset(sent)) return new Map()
  if (sent !== undefined && !equalJson(sent, live)) {
    const entries = readable(() => readSentEntries(sent))
    if (entries !== undefined && entries.size > 0) return entries
  }
  return readable(() => readStoredEntries(live)) ?? new Map()
}

function readable(read: () => ManagedEntries): ManagedEntries | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
