/** Whether watches were told everything that happened, once, in order, and all of them the same. */

export type WatchedEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; key: string; value: string; revision: number }

/** What a client was told that goes on where it was cut: all events after `fromRevision`, at least up to `untilRevision`. */
export type WatchRecord = { client: string; fromRevision: number; untilRevision: number; events: readonly WatchedEvent[] }

/** A write that was acknowledged. */
export type AcknowledgedWrite = { key: string; value: string; revision: number }

/** In plain words, at most so many; empty where all is well. */
export function watchProblems(watches: readonly WatchRecord[], writes: readonly AcknowledgedWrite[], limit = 10): string[] {
  const problems: string[] = []
  const all = new Map<number, WatchedEvent>()
  for (const { client, events } of watches) {
    let last = 0
    for (const event of events) {
      if (event.revision <= last) problems.push(`${client}: ${shown(event)} came after revision ${last}`)
      last = Math.max(last, event.revision)
      const known = all.get(event.revision)
      if (known === undefined) all.set(event.revision, event)
      else if (shown(known) !== shown(event)) problems.push(`${client}: was told ${shown(event)}, another watch ${shown(known)}`)
    }
  }
  for (const { key, value, revision } of writes) {
    const known = all.get(revision)
    if (known === undefined) all.set(revision, { type: 'MODIFIED', key, value, revision })
    else if (known.key !== key || (known.value !== value && known.type !== 'DELETED'))
      problems.push(`${key} was written as ${value} at revision ${revision}; a watch was told ${shown(known)}`)
  }
  const inOrder = [...all.values()].sort((one, other) => one.revision - other.revision)
  for (const { client, fromRevision, untilRevision, events } of watches) {
    const told = new Set(events.map(({ revision }) => revision))
    for (const event of inOrder) {
      if (event.revision <= fromRevision || event.revision > untilRevision || told.has(event.revision)) continue
      problems.push(`${client}: was not told of ${shown(event)}`)
    }
  }
  return [...problems, ...wrongTypes(watches)].slice(0, limit)
}

/** An object is added before it changes, and is not added again while it is there. */
function wrongTypes(watches: readonly WatchRecord[]): string[] {
  const problems: string[] = []
  for (const { client, events } of watches) {
    const there = new Map<string, boolean>()
    for (const event of events) {
      const isThere = there.get(event.key)
      // What a watch did not see begin may be there or not.
      if (isThere !== undefined && isThere === (event.type === 'ADDED'))
        problems.push(`${client}: ${shown(event)}, though it was ${isThere ? '' : 'not '}there`)
      there.set(event.key, event.type !== 'DELETED')
    }
  }
  return problems
}

const shown = ({ type, key, value, revision }: WatchedEvent): string =>
  type === 'DELETED' ? `DELETED ${key} at ${revision}` : `${key}=${value} at ${revision}`
