/** Between packed records and rows of the log. */
import { crc32 } from 'node:zlib'
import type { SqliteDatabase, SqliteRow, SqliteStatement } from '#base/sqlite.ts'
import { damaged } from '#store/sqlite/file-errors.ts'
import { type RecordFields, readRecord, recordBytes, writeRecord } from '#store/sqlite/record.ts'

/** Small enough that one old value does not keep much memory from being freed. */
const partBytes = 512 * 1024

export function insertLogRow(database: SqliteDatabase): SqliteStatement {
  return database.prepare('INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
}

export function writeRecords(insert: SqliteStatement, records: Uint8Array): void {
  const buffer = Buffer.from(records.buffer, records.byteOffset, records.byteLength)
  for (let at = 0; at < buffer.length; ) {
    const { row, revision, key, createRevision, version, lease, isDeleted, value, end } = readRecord(buffer, at)
    insert.run(row, revision, key, createRevision, version, lease, isDeleted ? 1 : 0, value, crc32(buffer.subarray(at, end)))
    at = end
  }
}

/** 0 where there is none. */
export function lastRowOf(database: SqliteDatabase): number {
  return Number(database.prepare('SELECT max(row) FROM log').get()?.[0] ?? 0)
}

/** Hands out every row, checked against its checksum, in parts that end where a revision ends; returns the last one's number. */
export function loadRecords(database: SqliteDatabase, path: string, onRecords: (records: Buffer<ArrayBuffer>) => void): number {
  const rows = database
    .prepare('SELECT row, revision, key, created, version, CAST(nullif(lease, 0) AS TEXT), deleted, value, checksum FROM log ORDER BY row')
    .iterate()
  let part: { record: RecordFields; checksum: unknown }[] = []
  let size = 0
  let last = { row: 0, revision: 0 }
  const flush = () => {
    const buffer = Buffer.from(new ArrayBuffer(size))
    let at = 0
    for (const { record, checksum } of part) {
      const start = at
      at = written(buffer, at, record, path)
      if (crc32(buffer.subarray(start, at)) !== checksum) throw damaged(path, `the checksum of row ${record.row} (${record.key}) is wrong`)
    }
    onRecords(buffer)
    part = []
    size = 0
  }
  for (const row of rows) {
    const record = fieldsOf(row, path)
    if (size > partBytes && record.revision !== last.revision) flush()
    part.push({ record, checksum: row[8] })
    size += recordBytes(record.key, record.value)
    last = record
  }
  if (part.length > 0) flush()
  return last.row
}

/** A number that no version can have is a damaged one. */
function written(buffer: Buffer, at: number, record: RecordFields, path: string): number {
  try {
    return writeRecord(buffer, at, record)
  } catch {
    throw damaged(path, `row ${record.row} (${record.key}) cannot be read`)
  }
}

function fieldsOf([row, revision, key, created, version, lease, deleted, value]: SqliteRow, path: string): RecordFields {
  if (!(value instanceof Uint8Array)) throw damaged(path, `row ${row} (${key}) has no value`)
  return {
    row: Number(row),
    revision: Number(revision),
    key: String(key),
    createRevision: Number(created),
    version: Number(version),
    lease: lease ? BigInt(String(lease)) : 0n,
    isDeleted: deleted === 1,
    value,
  }
}
