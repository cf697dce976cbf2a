/** What a store's file holds beside the log: leases, and counters. Each row has a checksum, as those of the log have. */
import { crc32 } from 'node:zlib'
import type { SqliteDatabase } from '#base/sqlite.ts'
import { damaged } from '#store/sqlite/file-errors.ts'
import type { Opened } from '#store/sqlite/thread-protocol.ts'

type CounterName = 'revision' | 'compacted' | 'batch'

/** As a file of layout 1 had them. */
export const summaryTables = `
  CREATE TABLE leases (id INTEGER PRIMARY KEY, seconds INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO counters VALUES ('revision', 1), ('compacted', 0), ('batch', 0);
`

/** To be called within a transaction. */
export function addChecksums(database: SqliteDatabase): void {
  for (const table of ['leases', 'counters']) database.exec(`ALTER TABLE ${table} ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0`)
  const writer = new SummaryWriter(database)
  for (const [id, seconds] of [...leaseRows(database)]) writer.grant(BigInt(String(id)), Number(seconds))
  for (const [name, value] of [...database.prepare('SELECT name, value FROM counters').iterate()])
    writer.count(String(name) as CounterName, Number(value))
}

export class SummaryWriter {
  readonly #grant: ReturnType<SqliteDatabase['prepare']>
  readonly #count: ReturnType<SqliteDatabase['prepare']>

  constructor(database: SqliteDatabase) {
    this.#grant = database.prepare('INSERT OR REPLACE INTO leases VALUES (?, ?, ?)')
    this.#count = database.prepare('UPDATE counters SET value = ?, checksum = ? WHERE name = ?')
  }

  grant(id: bigint, seconds: number): void {
    this.#grant.run(id, seconds, checksumOf(id, seconds))
  }

  count(name: CounterName, value: number): void {
    this.#count.run(value, checksumOf(name, value), name)
  }
}

/** `hasChecksums` is false for a file of layout 1 that may only be read. */
export function readSummary(database: SqliteDatabase, path: string, { hasChecksums = true } = {}): Opened {
  const check = (what: string, checksum: unknown, ...values: [unknown, unknown]) => {
    if (hasChecksums && checksumOf(...values) !== checksum) throw damaged(path, `the checksum of ${what} is wrong`)
  }
  const checksum = hasChecksums ? 'checksum' : '0'
  const counter = (name: CounterName): number => {
    const row = database.prepare(`SELECT value, ${checksum} FROM counters WHERE name = ?`).get(name)
    if (row === undefined) throw damaged(path, `the counter ${name} is missing`)
    check(`the counter ${name}`, row[1], name, row[0])
    return Number(row[0])
  }
  const leases = [...leaseRows(database, checksum)].map(([id, seconds, sum]) => {
    check(`lease ${id}`, sum, id, seconds)
    return { id: BigInt(String(id)), grantedSeconds: Number(seconds) }
  })
  const compacted = counter('compacted')
  return { revision: Math.max(counter('revision'), compacted), compacted, batchNumber: counter('batch'), leases }
}

/** Numbers of leases are larger than JavaScript's own. */
const leaseRows = (database: SqliteDatabase, checksum = '0') =>
  database.prepare(`SELECT CAST(id AS TEXT), seconds, ${checksum} FROM leases`).iterate()

const checksumOf = (name: unknown, value: unknown): number => crc32(`${name} ${value}`)
