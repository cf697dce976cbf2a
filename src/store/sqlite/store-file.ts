import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import { type Sqlite, type SqliteDatabase, type SqliteStatement, sqliteCodeOf, sqliteCodes } from '#base/sqlite.ts'
import { CommitMark } from '#store/sqlite/commit-mark.ts'
import { lockDirectory } from '#store/sqlite/directory-lock.ts'
import { damaged } from '#store/sqlite/file-errors.ts'
import { insertLogRow, loadRecords, writeRecords } from '#store/sqlite/log-rows.ts'
import { requireWholeLog } from '#store/sqlite/require-whole-log.ts'
import { createStoreFile, openStoreFile, storePath } from '#store/sqlite/schema.ts'
import { readSummary, SummaryWriter } from '#store/sqlite/summary.ts'
import type { Batch, BatchMark, Opened, Outcome, Place } from '#store/sqlite/thread-protocol.ts'

/** How much the write-ahead log may hold before it is copied into the file: 32 MB. */
const checkpointPages = 2000
/** Free pages are kept for reuse up to this share of the file. */
const keptFreeShare = 0.25
const pagesPerTidying = 128
const probeBytes = 512 * 1024

export class CommitError extends Error {
  override name = 'CommitError'
  readonly outcome: Outcome
  constructor(cause: unknown, outcome: Outcome) {
    super(errorMessage(cause), { cause })
    this.outcome = outcome
  }
}

/** The file and its lock. Every call blocks until the disk has answered, so it lives in a thread of its own. */
export class StoreFile {
  readonly #sqlite: Sqlite
  readonly #files: Files
  readonly #path: string
  readonly #lock: Disposable
  readonly #mark: CommitMark
  #connection: Connection | undefined

  static async open(sqlite: Sqlite, files: Files, { directory, processId }: Place): Promise<StoreFile> {
    await files.makeDirectory(directory)
    const lock = lockDirectory(sqlite, directory, processId)
    try {
      const path = storePath(directory)
      const stat = await files.stat(path)
      if (stat?.sizeBytes === 0) throw damaged(path, 'it is empty')
      // A new file would take what is in there for its own.
      if (!stat && (await files.stat(`${path}-wal`))) throw damaged(path, `it is missing, though its write-ahead log is there`)
      if (!stat) await createStoreFile(sqlite, files, path)
      const mark = new CommitMark(path)
      try {
        await requireWholeLog(sqlite, files, path, mark.before)
        return new StoreFile(sqlite, files, path, lock, mark)
      } catch (error) {
        mark[Symbol.dispose]()
        throw error
      }
    } catch (error) {
      lock[Symbol.dispose]()
      throw error
    }
  }

  private constructor(sqlite: Sqlite, files: Files, path: string, lock: Disposable, mark: CommitMark) {
    this.#sqlite = sqlite
    this.#files = files
    this.#path = path
    this.#lock = lock
    this.#mark = mark
    this.#connection = new Connection(sqlite, path)
  }

  /** What is not in the log. */
  summary(): Opened {
    const opened = readSummary(this.#open().database, this.#path)
    // Batches with rows leave their number in the mark only.
    return { ...opened, batchNumber: Math.max(opened.batchNumber, this.#mark.before?.number ?? 0) }
  }

  /** Hands out every version in the order they were made. */
  load(onRecords: (records: Buffer<ArrayBuffer>) => void): { lastRow: number } {
    try {
      return { lastRow: loadRecords(this.#open().database, this.#path, onRecords) }
    } catch (error) {
      const code = sqliteCodeOf(error)
      if (code === sqliteCodes.corrupt || code === sqliteCodes.ioError) throw damaged(this.#path, String(error))
      throw error
    }
  }

  /** Returns when the batch is durable; throws `CommitError` otherwise. */
  commit(batch: Batch): void {
    const connection = this.#open()
    let isCommitting = false
    try {
      connection.database.exec('BEGIN IMMEDIATE')
      connection.write(batch)
      isCommitting = true
      connection.database.exec('COMMIT')
    } catch (error) {
      throw new CommitError(error, this.#outcomeAfter(error, isCommitting, batch))
    }
    this.#mark.write(batch)
  }

  /** Makes sure that the file takes writes again, and tells what became of the batch. */
  recover(uncertain: BatchMark | undefined): Outcome | undefined {
    const connection = this.#reopen()
    connection.tryWriting(probeBytes)
    if (!uncertain) return undefined
    return connection.has(uncertain) ? 'written' : 'notWritten'
  }

  tidy(): boolean {
    const { database } = this.#open()
    const excess = pragma(database, 'freelist_count') - pragma(database, 'page_count') * keptFreeShare
    if (excess < pagesPerTidying) return false
    database.exec(`PRAGMA incremental_vacuum(${pagesPerTidying})`)
    return true
  }

  vacuum(): void {
    this.#open().database.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
  }

  async size(): Promise<{ totalBytes: number; usedBytes: number }> {
    const { database } = this.#open()
    const pageBytes = pragma(database, 'page_size')
    const pages = pragma(database, 'page_count')
    const wal = (await this.#files.stat(`${this.#path}-wal`))?.sizeBytes ?? 0
    return { totalBytes: pages * pageBytes + wal, usedBytes: (pages - pragma(database, 'freelist_count')) * pageBytes }
  }

  close(): void {
    try {
      this.#connection?.close()
    } finally {
      this.#connection = undefined
      this.#mark[Symbol.dispose]()
      this.#lock[Symbol.dispose]()
    }
  }

  /**
   * Before COMMIT, and when there was no room for it, nothing can have been written. Any other failure of COMMIT itself,
   * such as a failed sync, leaves it open: what counts then is what a fresh look at the file finds.
   */
  #outcomeAfter(error: unknown, isCommitting: boolean, batch: Batch): Outcome {
    this.#connection?.rollback()
    if (!isCommitting || sqliteCodeOf(error) === sqliteCodes.full) return 'notWritten'
    try {
      this.#connection?.close()
    } catch {
      // Whatever state it is in, it is not used any more.
    }
    this.#connection = undefined
    try {
      return this.#reopen().has(batch) ? 'written' : 'notWritten'
    } catch {
      return 'unknown'
    }
  }

  /** The checkpoint writes anew what a failed sync may have left in memory only. */
  #reopen(): Connection {
    this.#connection ??= new Connection(this.#sqlite, this.#path)
    this.#connection.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return this.#connection
  }

  #open(): Connection {
    if (!this.#connection) throw new Error('the file is closed after an error')
    return this.#connection
  }
}

/** An open file and its prepared statements. */
class Connection {
  readonly database: SqliteDatabase
  readonly #insert: SqliteStatement
  readonly #forget: SqliteStatement
  readonly #revoke: SqliteStatement
  readonly #summary: SummaryWriter

  constructor(sqlite: Sqlite, path: string) {
    const database = openStoreFile(sqlite, path)
    database.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${checkpointPages}; PRAGMA journal_size_limit = 67108864`)
    // On macOS a plain sync leaves the data in the drive's memory; elsewhere this says nothing.
    database.exec('PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA cache_size = -16384')
    this.database = database
    this.#insert = insertLogRow(database)
    this.#forget = database.prepare('DELETE FROM log WHERE row = ?')
    this.#revoke = database.prepare('DELETE FROM leases WHERE id = ?')
    this.#summary = new SummaryWriter(database)
  }

  write({ records, forgotten, granted, revoked, compacted, number }: Batch): void {
    writeRecords(this.#insert, records)
    for (const row of forgotten) this.#forget.run(row)
    for (const { id, grantedSeconds } of granted) this.#summary.grant(id, grantedSeconds)
    for (const id of revoked) this.#revoke.run(id)
    if (compacted !== undefined) this.#summary.count('compacted', compacted)
    // Batches with records are recognized by their last row.
    if (records.byteLength === 0) this.#summary.count('batch', number)
  }

  /** Writes and takes back something large enough that real batches are likely to fit as well. */
  tryWriting(bytes: number): void {
    try {
      this.database.exec('BEGIN IMMEDIATE')
      this.database.prepare('INSERT INTO room VALUES (zeroblob(?))').run(bytes)
      this.database.exec('COMMIT')
      this.database.exec('DELETE FROM room')
    } catch (error) {
      this.rollback()
      throw error
    }
  }

  rollback(): void {
    try {
      this.database.exec('ROLLBACK')
    } catch {
      // SQLite has rolled back by itself.
    }
  }

  has({ number, lastRow }: BatchMark): boolean {
    if (lastRow > 0) return this.database.prepare('SELECT 1 FROM log WHERE row = ?').get(lastRow) !== undefined
    return Number(this.database.prepare("SELECT value FROM counters WHERE name = 'batch'").get()?.[0]) === number
  }

  close(): void {
    this.database.close()
  }
}

function pragma(database: SqliteDatabase, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[0] ?? 0)
}
