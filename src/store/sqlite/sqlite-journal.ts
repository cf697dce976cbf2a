import { append } from '#base/append.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Commit, Journal, JournalListener } from '#store/embedded/journal.ts'
import type { Version } from '#store/mvcc/key-index.ts'
import { type FileChannel, FileClient } from '#store/sqlite/file-client.ts'
import { recordBytes, recordOf, writeRecord } from '#store/sqlite/record.ts'
import type { Batch, BatchMark, Opened, Outcome, Place } from '#store/sqlite/thread-protocol.ts'

export type SqliteJournalOptions = { clock: Clock; logger: Logger; place: Place; startFile(): FileChannel }

const largestBatchBytes = 4 * 1024 * 1024
const largestBatchCommits = 4096
/** Rows deleted with a batch, beyond two for each one it writes: enough to catch up, too few to be felt. */
const forgottenPerBatch = 256
const forgottenWhenIdle = 1024
const retryMs = 1000

/** What became of it is not known yet. */
type Sent = { count: number; mark: BatchMark; forgotten: Float64Array }

/**
 * Commits together what arrives together: while one batch is on its way to the disk, the next one gathers.
 *
 *     gathering --> in flight --> settled
 *                      \--> trouble: refused, or uncertain --(file opened again)--> settled or refused
 */
export class SqliteJournal implements Journal {
  readonly #options: SqliteJournalOptions
  #file: FileClient
  #listener: JournalListener | undefined
  #gathering: Commit[] = []
  #inFlight: Sent | undefined
  #uncertain: Sent | undefined
  #forgotten: number[] = []
  #isFlushing = false
  #trouble: Error | undefined
  #lastRow = 0
  #batchNumber = 0
  #retryTimer: Timer | undefined
  #isClosing = false
  #waiting: { isOver(): boolean; resolve(): void }[] = []

  constructor(options: SqliteJournalOptions) {
    this.#options = options
    this.#file = new FileClient(options.startFile())
  }

  /** Takes the directory. */
  async open(): Promise<Opened> {
    const opened = await this.#file.call('open', this.#options.place)
    this.#batchNumber = opened.batchNumber
    return opened
  }

  /** Hands out what is kept, oldest first. */
  async load(onRecords: (records: Uint8Array) => void): Promise<void> {
    const { lastRow } = await this.#file.call('load', undefined, { onRecords })
    this.#lastRow = lastRow
  }

  start(listener: JournalListener): void {
    this.#listener = listener
  }

  append(commit: Commit): void {
    this.#gathering.push(commit)
    for (const version of commit.change?.versions ?? []) version.row = ++this.#lastRow
    if (this.#trouble) this.#refuseGathered(this.#trouble)
    else this.#flushSoon()
  }

  forget(version: Version): void {
    this.#forgotten.push(version.row)
    this.#flushSoon()
  }

  size(): Promise<{ totalBytes: number; usedBytes: number }> {
    return this.#file.call('size', undefined)
  }

  async vacuum(): Promise<void> {
    await this.#until(() => this.#forgotten.length === 0 && !this.#inFlight)
    await this.#file.call('vacuum', undefined)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#retryTimer?.cancel()
    await this.#until(() => !this.#inFlight && this.#gathering.length === 0)
    await this.#file
      .call('close', undefined)
      .catch((error) => this.#options.logger.warn('failed to close the store', { error: String(error) }))
    await this.#file.stop()
  }

  /** Later in this turn of the event loop, so that requests read together are written together. */
  #flushSoon(): void {
    if (this.#isFlushing || this.#inFlight) return
    this.#isFlushing = true
    this.#options.clock.soon(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#inFlight || this.#trouble || (this.#isClosing && this.#gathering.length === 0)) return
    const batch = this.#takeBatch()
    if (!batch) return
    const { message, sent } = batch
    if (isEmpty(message)) {
      // Only reads that had to wait for the writes before them.
      this.#settle(sent)
      return
    }
    this.#inFlight = sent
    this.#file.call('commit', message, { transfer: [message.records.buffer as ArrayBuffer] }).then(
      ({ failure }) => {
        this.#inFlight = undefined
        if (failure) this.#fail(new Error(failure.message), failure.outcome, sent)
        else this.#settle(sent)
      },
      (error: Error) => {
        this.#inFlight = undefined
        this.#fail(error, 'unknown', sent)
      },
    )
  }

  #settle({ count, forgotten }: Sent): void {
    this.#listener?.onSettled(count)
    if (this.#gathering.length > 0 || (this.#forgotten.length > 0 && !this.#isClosing)) this.#flushSoon()
    else if (forgotten.length > 0 && !this.#isClosing) this.#tidy()
    this.#tellWaiting()
  }

  /** Resolves when nothing is to be waited for any more, or the disk is in trouble. */
  #until(isOver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ isOver, resolve })
      this.#tellWaiting()
    })
  }

  #tellWaiting(): void {
    this.#waiting = this.#waiting.filter(({ isOver, resolve }) => {
      const isDone = this.#trouble !== undefined || isOver()
      if (isDone) resolve()
      return !isDone
    })
  }

  /** Gives room back to the file system once everything forgotten is deleted and nothing else is to be done. */
  #tidy(): void {
    this.#file.call('tidy', undefined).then(
      (hasMore) => {
        if (hasMore && !this.#inFlight && !this.#isFlushing && !this.#trouble && !this.#isClosing)
          this.#options.clock.soon(() => this.#tidy())
      },
      () => undefined,
    )
  }

  #takeBatch(): { message: Batch; sent: Sent } | undefined {
    if (this.#gathering.length === 0 && this.#forgotten.length === 0) return undefined
    const versions: Version[] = []
    let bytes = 0
    let count = 0
    for (const { change } of this.#gathering) {
      if (count === largestBatchCommits || bytes > largestBatchBytes) break
      count++
      for (const version of change?.versions ?? []) {
        versions.push(version)
        bytes += recordBytes(version.kv.key, version.kv.value)
      }
    }
    const commits = this.#gathering.splice(0, count)
    const most = count === 0 ? forgottenWhenIdle : forgottenPerBatch + 2 * versions.length
    const forgotten = Float64Array.from(this.#forgotten.splice(Math.max(0, this.#forgotten.length - most)))
    const records = Buffer.from(new ArrayBuffer(bytes))
    let at = 0
    for (const version of versions) at = writeRecord(records, at, recordOf(version))
    const message = {
      number: ++this.#batchNumber,
      records,
      lastRow: versions.at(-1)?.row ?? 0,
      forgotten,
      granted: commits.flatMap(({ leaseGranted }) => leaseGranted ?? []),
      revoked: commits.flatMap(({ leaseRevoked }) => leaseRevoked ?? []),
      compacted: commits.reduce((newest, { compacted = 0 }) => Math.max(newest, compacted), 0) || undefined,
    }
    const mark = { number: message.number, lastRow: message.lastRow }
    return { message, sent: { count, mark, forgotten } }
  }

  #fail(error: Error, outcome: Outcome, batch: Sent): void {
    this.#options.logger.error('failed to write to the store', { directory: this.#options.place.directory, error: error.message, outcome })
    this.#setTrouble(error)
    // Deleting a row twice does no harm.
    append(this.#forgotten, batch.forgotten)
    if (outcome === 'written') this.#listener?.onSettled(batch.count)
    if (outcome === 'unknown') {
      this.#uncertain = batch
      this.#listener?.onUncertain(batch.count, error)
    }
    this.#refuseGathered(error)
    this.#recoverLater()
  }

  #refuseGathered(error: Error): void {
    this.#gathering = []
    this.#listener?.onRefused(this.#uncertain?.count ?? 0, error)
    this.#tellWaiting()
  }

  #recoverLater(): void {
    if (this.#isClosing) return
    this.#retryTimer = this.#options.clock.after(retryMs, () => {
      this.#recover().catch((error: Error) => {
        this.#setTrouble(error)
        this.#recoverLater()
      })
    })
  }

  async #recover(): Promise<void> {
    if (this.#file.isLost) this.#file = new FileClient(this.#options.startFile())
    const { outcome } = await this.#file.call('recover', { ...this.#options.place, uncertain: this.#uncertain?.mark })
    const count = this.#uncertain?.count ?? 0
    this.#uncertain = undefined
    if (outcome === 'written') this.#listener?.onSettled(count)
    if (outcome === 'notWritten') this.#listener?.onRefused(0, new Error('the write did not reach the disk'))
    this.#setTrouble(undefined)
    this.#options.logger.info('store is writable again', { directory: this.#options.place.directory })
    this.#flushSoon()
  }

  #setTrouble(error: Error | undefined): void {
    this.#trouble = error
    this.#listener?.onTrouble(error)
  }
}

function isEmpty({ records, forgotten, granted, revoked, compacted }: Batch): boolean {
  return records.byteLength + forgotten.length + granted.length + revoked.length === 0 && compacted === undefined
}
