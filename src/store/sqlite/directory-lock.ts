import { join } from 'node:path'
import { type Sqlite, sqliteCodeOf, sqliteCodes } from '#base/sqlite.ts'
import { DirectoryInUseError, DirectoryNotWritableError } from '#store/sqlite/file-errors.ts'

/**
 * Takes the data directory for one process. The lock is an open transaction on a small SQLite file: the operating system
 * lets go of it when the process dies, however it dies, and others can still read there who holds it.
 */
export function lockDirectory(sqlite: Sqlite, directory: string, processId: number): Disposable {
  const path = join(directory, 'store.lock')
  try {
    const database = sqlite.open(path)
    try {
      database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF')
      database.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${processId}; COMMIT`)
      database.exec('BEGIN IMMEDIATE')
      return { [Symbol.dispose]: () => database.close() }
    } catch (error) {
      const isBusy = sqliteCodeOf(error) === sqliteCodes.busy
      const holder = isBusy ? Number(database.prepare('PRAGMA user_version').get()?.[0] ?? 0) : 0
      database.close()
      if (!isBusy) throw error
      throw new DirectoryInUseError(
        `the data directory ${directory} is in use by process ${holder || '(unknown)'}. Nothing was changed. ` +
          'Stop that process, or give this one a directory of its own with --data-dir.',
      )
    }
  } catch (error) {
    const code = sqliteCodeOf(error)
    if (code === sqliteCodes.notADatabase || code === sqliteCodes.corrupt) {
      throw new DirectoryInUseError(`the lock ${path} is damaged: remove it once no process uses the directory`)
    }
    if (code !== sqliteCodes.cannotOpen && code !== sqliteCodes.readOnly) throw error
    throw new DirectoryNotWritableError(
      `the data directory ${directory} cannot be written: make it writable, or choose another with --data-dir`,
    )
  }
}
