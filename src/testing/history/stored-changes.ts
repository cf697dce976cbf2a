/** Whether what clients were told about their writes is what the store says took place. */
import type { ObjectCall, ObjectResult } from '#testing/history/object-model.ts'
import type { WatchRecord } from '#testing/history/watch-completeness.ts'

/** A change of one object, as the store itself tells it. */
export type StoredChange = {
  revision: number
  key: string
  /** Undefined: deleted. */
  value: string | undefined
  /** It was not there before. */
  isNew: boolean
}

type ToldOperation = { client: string; key: string; call: ObjectCall; result: ObjectResult }

/** In plain words, at most so many; empty where all is well. Linear in what was done. */
export function storedProblems(operations: readonly ToldOperation[], changes: readonly StoredChange[], limit = 10): string[] {
  const problems: string[] = []
  const byRevision = new Map(changes.map((change) => [change.revision, change]))
  const revisionOf = new Map<string, number>()
  for (const { key, value, revision } of changes) {
    if (value === undefined) continue
    const other = revisionOf.get(value)
    if (other !== undefined) problems.push(`${key}=${value} took place twice, at ${other} and at ${revision}`)
    revisionOf.set(value, revision)
  }
  const deletedAfter = firstDeletions(changes)
  const called = new Set<string>()
  for (const { client, key, call, result } of operations) {
    const what = `${client}: ${call.verb} ${key}`
    if ('value' in call) {
      called.add(call.value)
      const isRefused = result.kind === 'exists' || result.kind === 'conflict' || result.kind === 'absent'
      const revision = revisionOf.get(call.value)
      if (isRefused && revision !== undefined) problems.push(`${what} was refused (${result.kind}), and yet took place at ${revision}`)
      if (result.kind === 'written' && !isAt(byRevision.get(result.revision), key, call.value))
        problems.push(`${what}=${call.value} was acknowledged at ${result.revision}, and is not in the store`)
    }
    if (result.kind === 'found' && !isAt(byRevision.get(result.revision), key, result.value))
      problems.push(`${what} found ${result.value} at ${result.revision}, which was never stored`)
    if (
      call.verb === 'delete' &&
      call.ifRevision !== undefined &&
      result.kind === 'deleted' &&
      !deletedAfter.has(`${key} ${call.ifRevision}`)
    )
      problems.push(`${what} at ${call.ifRevision} was acknowledged, and something else came next`)
  }
  for (const { key, value, revision } of changes)
    if (value !== undefined && !called.has(value)) problems.push(`${key}=${value} at ${revision} was written by nobody`)
  return problems.slice(0, limit)
}

/** The store's own history as that of a watch, with which others are compared. */
export function asWatch(changes: readonly StoredChange[]): WatchRecord {
  const events = changes.map(({ revision, key, value, isNew }) => {
    const type = value === undefined ? ('DELETED' as const) : isNew ? ('ADDED' as const) : ('MODIFIED' as const)
    return { type, key, value: value ?? '', revision }
  })
  return { client: 'the store', fromRevision: 0, untilRevision: Number.POSITIVE_INFINITY, events }
}

const isAt = (change: StoredChange | undefined, key: string, value: string): boolean => change?.key === key && change.value === value

/** The states that were ended by a deletion: `key revision`. */
function firstDeletions(changes: readonly StoredChange[]): Set<string> {
  const lastOf = new Map<string, number>()
  const deleted = new Set<string>()
  for (const { key, value, revision } of changes) {
    if (value === undefined) deleted.add(`${key} ${lastOf.get(key)}`)
    lastOf.set(key, revision)
  }
  return deleted
}
