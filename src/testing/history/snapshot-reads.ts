/** Whether lists show what the store held at the revision that they name: whole ones, page by page, old and new. */
import type { StoredChange } from '#testing/history/stored-changes.ts'

/** All that a client was shown as of one revision. */
export type SnapshotRead = {
  client: string
  what: string
  revision: number
  items: readonly { key: string; value: string; revision: number }[]
}

/** In plain words, at most so many; empty where all is well. `changes` are in the order of revisions. */
export function snapshotProblems(reads: readonly SnapshotRead[], changes: readonly StoredChange[], limit = 10): string[] {
  const problems: string[] = []
  const state = new Map<string, string>()
  let next = 0
  for (const { client, what, revision, items } of reads.toSorted((one, other) => one.revision - other.revision)) {
    for (let change = changes[next]; change !== undefined && change.revision <= revision; change = changes[++next]) {
      if (change.value === undefined) state.delete(change.key)
      else state.set(change.key, `${change.value} at ${change.revision}`)
    }
    const shown = new Map(items.map((item) => [item.key, `${item.value} at ${item.revision}`]))
    const at = `${client}: ${what} as of ${revision}`
    if (shown.size < items.length) problems.push(`${at} shows an object twice`)
    for (const [key, value] of shown)
      if (state.get(key) !== value) problems.push(`${at} shows ${key}=${value}, the store had ${state.get(key) ?? 'none'}`)
    for (const [key, value] of state) if (!shown.has(key)) problems.push(`${at} does not show ${key}=${value}`)
    if (problems.length >= limit) break
  }
  return problems.slice(0, limit)
}
