import { type Sqlite, SqliteError } from '#base/sqlite.ts'

/** Where a disk may fail: opening, a statement that writes, BEGIN, COMMIT, or just after COMMIT was in fact done. */
export type FaultPoint = 'open' | 'write' | 'begin' | 'commit' | 'committed'

/** Faults to come: what SQLite would say at that point. Remove one to heal the disk. */
export type Faults = Map<FaultPoint, SqliteError>

export const diskFaults = {
  full: () => new SqliteError('database or disk is full', 13),
  failedSync: () => new SqliteError('disk I/O error', 1034),
  readOnly: () => new SqliteError('attempt to write a readonly database', 8),
  cannotOpen: () => new SqliteError('unable to open database file', 14),
}

/** SQLite on a disk that fails when told to. */
export function faultySqlite(sqlite: Sqlite, faults: Faults): Sqlite {
  const meet = (point: FaultPoint) => {
    const error = faults.get(point)
    if (error) throw error
  }
  return {
    open(path, options) {
      meet('open')
      const database = sqlite.open(path, options)
      return {
        exec(sql) {
          if (sql.startsWith('BEGIN')) meet('begin')
          if (sql === 'COMMIT') meet('commit')
          database.exec(sql)
          if (sql === 'COMMIT') meet('committed')
        },
        prepare(sql) {
          const statement = database.prepare(sql)
          if (!/^(INSERT|UPDATE|DELETE)/.test(sql)) return statement
          return {
            ...statement,
            run(...values) {
              meet('write')
              statement.run(...values)
            },
          }
        },
        close: () => database.close(),
      }
    },
  }
}
