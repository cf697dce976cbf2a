import type { Files } from '#base/files.ts'
import type { Sqlite } from '#base/sqlite.ts'
import { markPath } from '#store/sqlite/commit-mark.ts'
import { damaged } from '#store/sqlite/file-errors.ts'
import { lastRowOf } from '#store/sqlite/log-rows.ts'
import { hasChecksums } from '#store/sqlite/schema.ts'
import { readSummary } from '#store/sqlite/summary.ts'
import type { BatchMark } from '#store/sqlite/thread-protocol.ts'
import { logFault } from '#store/sqlite/write-ahead-log.ts'

/**
 * Throws where SQLite would leave out what had been acknowledged: the log is damaged in its middle, or the file ends before the last
 * batch that is known to have been written. To be called before the file is opened, since SQLite then removes what it takes for garbage.
 */
export async function requireWholeLog(sqlite: Sqlite, files: Files, path: string, last: BatchMark | undefined): Promise<void> {
  const logPath = `${path}-wal`
  const hasLog = (await files.stat(logPath)) !== undefined
  const fault = hasLog ? logFault(await files.read(logPath)) : undefined
  if (fault?.isCertain) throw damaged(logPath, fault.detail)
  if (last === undefined) return
  const reached = reachedIn(sqlite, path)
  if (reached === undefined || includes(reached, last)) return
  const missing = last.lastRow > 0 ? `row ${last.lastRow}` : `batch ${last.number}`
  const why = fault?.detail ?? (hasLog ? 'it ends too early' : 'it is missing')
  const goOn = `To go on without what is missing, remove ${markPath(path)}`
  throw damaged(logPath, `${why}; ${missing} was written, and the last that can be read is row ${reached.lastRow}. ${goOn}`)
}

/** As SQLite reads it, without a change to the file; undefined where it cannot, which opening it will tell of. */
function reachedIn(sqlite: Sqlite, path: string): BatchMark | undefined {
  try {
    const database = sqlite.open(path, { readOnly: true })
    try {
      return { lastRow: lastRowOf(database), number: readSummary(database, path, { hasChecksums: hasChecksums(database) }).batchNumber }
    } finally {
      database.close()
    }
  } catch {
    return undefined
  }
}

/** The newest row may have been forgotten since, by a batch without rows, and those have their number in the file. */
function includes(reached: BatchMark, last: BatchMark): boolean {
  if (last.lastRow === 0) return reached.number >= last.number
  return reached.lastRow >= last.lastRow || reached.number > last.number
}
