/** SQLite as the store sees it: synchronous, so for worker threads only. */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

export type SqliteValue = SQLInputValue | Uint8Array
export type SqliteRow = readonly (null | number | bigint | string | Uint8Array)[]

export type Sqlite = {
  /** Creates the file where it is missing, unless it is opened to be read only. */
  open(path: string, options?: { readOnly?: boolean; waitForLockMs?: number }): SqliteDatabase
}

export type SqliteDatabase = {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
}

export type SqliteStatement = {
  run(...values: SqliteValue[]): void
  get(...values: SqliteValue[]): SqliteRow | undefined
  iterate(...values: SqliteValue[]): Iterable<SqliteRow>
}

export const nodeSqlite: Sqlite = {
  open(path, { readOnly = false, waitForLockMs = 0 } = {}) {
    const database = new DatabaseSync(path, { readOnly, timeout: waitForLockMs })
    return {
      exec: (sql) => database.exec(sql),
      prepare(sql) {
        const statement = database.prepare(sql, { returnArrays: true })
        return {
          run: (...values) => void statement.run(...(values as SQLInputValue[])),
          get: (...values) => statement.get(...(values as SQLInputValue[])) as unknown as SqliteRow | undefined,
          iterate: (...values) => statement.iterate(...(values as SQLInputValue[])) as unknown as Iterable<SqliteRow>,
        }
      },
      close: () => database.close(),
    }
  },
}

/** SQLite's own numbers for what went wrong; the low byte of the extended ones. */
export const sqliteCodes = { busy: 5, readOnly: 8, ioError: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 } as const

export class SqliteError extends Error {
  override name = 'SqliteError'
  readonly errcode: number
  constructor(message: string, errcode: number) {
    super(message)
    this.errcode = errcode
  }
}

/** The primary result code, or undefined where the error is not SQLite's. */
export function sqliteCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error && 'errcode' in error && typeof error.errcode === 'number')) return undefined
  return error.errcode & 0xff
}
