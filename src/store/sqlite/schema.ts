import { dirname, join } from 'node:path'
import { errorMessage } from '#base/error-message.ts'
import { type Files, hasCode } from '#base/files.ts'
import { type Sqlite, type SqliteDatabase, sqliteCodeOf, sqliteCodes } from '#base/sqlite.ts'
import { markPath } from '#store/sqlite/commit-mark.ts'
import { damaged, NewerSchemaError, NotAStoreError } from '#store/sqlite/file-errors.ts'
import { addChecksums, summaryTables } from '#store/sqlite/summary.ts'

/** "TYPN", where SQLite files say whose they are. */
const applicationId = 0x5459504e
/** 2: leases and counters have checksums. */
const schemaVersion = 2

/**
 * Big pages, since rows are appended in bulk and kilobytes large. The log has no index but its row: everything that is
 * looked up is looked up in memory.
 */
const tables = `
  CREATE TABLE log (
    row INTEGER PRIMARY KEY, revision INTEGER NOT NULL, key TEXT NOT NULL, created INTEGER NOT NULL, version INTEGER NOT NULL,
    lease INTEGER NOT NULL, deleted INTEGER NOT NULL, value BLOB NOT NULL, checksum INTEGER NOT NULL
  ) STRICT;
  ${summaryTables}
  CREATE TABLE room (filler BLOB) STRICT;
`

export function storePath(directory: string): string {
  return join(directory, 'store.db')
}

/** Makes an empty store under a draft's name, so that a file under the real one is always whole. */
export async function createStoreFile(
  sqlite: Sqlite,
  files: Files,
  path: string,
  fill?: (database: SqliteDatabase) => void,
): Promise<void> {
  const draft = `${path}.draft`
  for (const suffix of ['', '-wal', '-shm', '-journal']) await files.remove(`${draft}${suffix}`)
  await files.write(draft, '')
  const database = sqlite.open(draft)
  try {
    database.exec('PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    database.exec(`BEGIN; ${tables} PRAGMA application_id = ${applicationId}`)
    addChecksums(database)
    database.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT`)
    await fill?.(database)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
  // It speaks of what was there before.
  await files.remove(markPath(path))
  await files.rename(draft, path)
  await syncDirectory(files, dirname(path))
}

/** A name is only safe from a power cut once its directory is; some platforms neither need nor allow it. */
export async function syncDirectory(files: Files, directory: string): Promise<void> {
  try {
    await using handle = await files.open(directory, 'r')
    await handle.sync()
  } catch (error) {
    if (!['EISDIR', 'EPERM', 'EACCES', 'EINVAL'].some((code) => hasCode(error, code))) throw error
  }
}

/** Opens a store's file after making sure that it is one, that this program knows its layout, and that it is sound. */
export function openStoreFile(sqlite: Sqlite, path: string, options: { readOnly?: boolean } = {}): SqliteDatabase {
  const database = sqlite.open(path, options)
  try {
    checkIdentity(database, path)
    const [result] = database.prepare('PRAGMA quick_check(1)').get() ?? []
    if (result !== 'ok') throw damaged(path, String(result))
    if (options.readOnly !== true) updateLayout(database)
    return database
  } catch (error) {
    database.close()
    const code = sqliteCodeOf(error)
    if (code === sqliteCodes.notADatabase) throw notAStore(path, 'it is not an SQLite file')
    if (code === sqliteCodes.corrupt) throw damaged(path, errorMessage(error))
    throw error
  }
}

/** Of a file that an earlier version of this program made. */
function updateLayout(database: SqliteDatabase): void {
  if (hasChecksums(database)) return
  database.exec('BEGIN IMMEDIATE')
  addChecksums(database)
  database.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT`)
}

/** A file that may only be read keeps its layout. */
export const hasChecksums = (database: SqliteDatabase): boolean => pragma(database, 'user_version') >= schemaVersion

const pragma = (database: SqliteDatabase, name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[0] ?? 0)

function checkIdentity(database: SqliteDatabase, path: string): void {
  const owner = pragma(database, 'application_id')
  if (owner !== applicationId) throw notAStore(path, `its application id is 0x${owner.toString(16)}, not 0x${applicationId.toString(16)}`)
  const version = pragma(database, 'user_version')
  if (version > schemaVersion) {
    throw new NewerSchemaError(
      `the store's file ${path} has layout ${version}, and this program knows up to ${schemaVersion}. Nothing was changed. ` +
        'Run the newer version that wrote it, or restore a snapshot of this version.',
    )
  }
}

function notAStore(path: string, detail: string): NotAStoreError {
  return new NotAStoreError(
    `${path} is not a store of Typernetes: ${detail}. Nothing was changed. Move it away, or choose another --data-dir.`,
  )
}
