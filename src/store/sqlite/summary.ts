import type { SqliteDatabase } from '#base/sqlite.ts'
import type { Opened } from '#store/sqlite/thread-protocol.ts'

/** What a store's file holds beside the log. */
export function readSummary(database: SqliteDatabase): Opened {
  const counter = (name: string) => Number(database.prepare('SELECT value FROM counters WHERE name = ?').get(name)?.[0] ?? 0)
  const leases = [...database.prepare('SELECT CAST(id AS TEXT), seconds FROM leases').iterate()]
  const compacted = counter('compacted')
  return {
    revision: Math.max(counter('revision'), compacted),
    compacted,
    batchNumber: counter('batch'),
    leases: leases.map(([id, seconds]) => ({ id: BigInt(String(id)), grantedSeconds: Number(seconds) })),
  }
}
