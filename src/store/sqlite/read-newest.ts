import type { Sqlite } from '#base/sqlite.ts'
import { loadRecords } from '#store/sqlite/log-rows.ts'
import { readRecord } from '#store/sqlite/record.ts'
import { hasChecksums, openStoreFile } from '#store/sqlite/schema.ts'
import { readSummary } from '#store/sqlite/summary.ts'
import type { KeyValue, Lease } from '#store/store.ts'

/** The newest state in a store's file, which may be in use by another process. */
export function readNewest(
  sqlite: Sqlite,
  path: string,
): { kvs: KeyValue[]; revision: number; leases: Pick<Lease, 'id' | 'grantedSeconds'>[] } {
  const database = openStoreFile(sqlite, path, { readOnly: true })
  try {
    // All reads see the file as it is at the first of them.
    database.exec('BEGIN')
    const { leases, ...counters } = readSummary(database, path, { hasChecksums: hasChecksums(database) })
    const newest = new Map<string, KeyValue>()
    let revision = counters.revision
    loadRecords(database, path, (part) => {
      for (let at = 0; at < part.byteLength; ) {
        const { key, value, createRevision, revision: modRevision, version, lease, isDeleted, end } = readRecord(part, at)
        if (isDeleted) newest.delete(key)
        else newest.set(key, { key, value, createRevision, modRevision, version, lease })
        revision = Math.max(revision, modRevision)
        at = end
      }
    })
    return { kvs: [...newest.values()], revision, leases }
  } finally {
    database.close()
  }
}
