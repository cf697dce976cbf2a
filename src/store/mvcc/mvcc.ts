import { checkRange, checkTransaction, holds } from '#store/mvcc/check-transaction.ts'
import { History, VersionedChange } from '#store/mvcc/history.ts'
import { type KeyEntry, KeyIndex, type Version } from '#store/mvcc/key-index.ts'
import {
  CompactedError,
  FutureRevisionError,
  type KeyRange,
  type KeyValue,
  type Operation,
  type OperationResult,
  type RangeRequest,
  type RangeResult,
  type Transaction,
} from '#store/store.ts'

const noValue = new Uint8Array(0)

/** What a transaction did. Where it changed nothing, `change` is undefined and `revision` the one it looked at. */
export type Outcome = { succeeded: boolean; revision: number; results: OperationResult[]; change: VersionedChange | undefined }

/** Told of every key that gets, changes or loses a lease, and asked which leases exist. */
export type LeaseBook = {
  check(lease: bigint): void
  move(key: string, from: bigint, to: bigint): void
}

/**
 * Every key with its versions, in memory.
 *
 *     compacted <= readable revisions <= revision (durable) <= head (evaluated)
 *
 * Transactions are evaluated against the head at once, so that many can be on their way to the disk together; readers
 * see only what `settle` has declared durable; `rollback` takes back what never will be.
 */
export class Mvcc {
  readonly #index = new KeyIndex()
  readonly #leases: LeaseBook
  readonly history = new History()
  #revision = 1
  #head = 1
  #compacted = 0
  #historyBytes = 0

  constructor(leases: LeaseBook) {
    this.#leases = leases
  }

  get revision(): number {
    return this.#revision
  }
  get head(): number {
    return this.#head
  }
  get compacted(): number {
    return this.#compacted
  }
  get keyCount(): number {
    return this.#index.size
  }
  /** About how much memory superseded versions and tombstones take. */
  get historyBytes(): number {
    return this.#historyBytes
  }

  range(request: RangeRequest): RangeResult {
    checkRange(request)
    return this.#read(request, this.#readableAt(request.revision, this.#revision), this.#revision)
  }

  /** Changes the head. Throws, having done nothing, where the transaction is not allowed. */
  evaluate(transaction: Transaction): Outcome {
    checkTransaction(transaction)
    const succeeded = (transaction.compare ?? []).every((compare) => holds(compare, this.#newest(compare.key)))
    const operations = succeeded ? transaction.success : (transaction.failure ?? [])
    for (const operation of operations) this.#checkAgainstHead(operation)
    const revision = this.#head + 1
    const change = new VersionedChange(revision)
    const results = operations.map((operation) => this.#apply(operation, change))
    if (change.versions.length === 0) return { succeeded, revision: this.#head, results, change: undefined }
    this.#head = revision
    for (const result of results) if ('range' in result) result.range.revision = revision
    return { succeeded, revision, results, change }
  }

  /** Everything up to this change is durable, and from now on visible. */
  settle(change: VersionedChange): void {
    this.#revision = change.revision
    this.history.push(change)
  }

  /** Takes back the newest change, which must not be visible yet. */
  rollback(change: VersionedChange): void {
    for (const version of change.versions.toReversed()) {
      this.#index.pop(version)
      if (version.older) this.#dropIfForgotten(version.older)
      this.#leases.move(version.kv.key, version.kv.lease, version.older?.kv.lease ?? 0n)
      this.#historyBytes -= supersededBytes(version)
    }
    this.#head = change.revision - 1
  }

  /** Puts back a change read from disk, in the order they were made; what is compacted already is forgotten on the way. */
  restore(change: VersionedChange, onForgotten: (version: Version) => void): void {
    for (const version of change.versions) this.#push(version)
    if (change.revision > this.#compacted) this.history.push(change)
    else for (const version of change.versions) this.#forgetBefore(version, onForgotten)
    this.#head = Math.max(this.#head, change.revision)
    this.#revision = this.#head
  }

  /** The version a key has at the head, deleted or not. */
  peek(key: string): Version | undefined {
    return this.#index.get(key)?.newest
  }

  /** The counters a store starts with; its versions come after, by `restore`. */
  startAt(revision: number, compacted: number): void {
    this.#revision = Math.max(this.#revision, revision)
    this.#head = this.#revision
    this.#compacted = compacted
  }

  checkCompaction(revision: number): void {
    if (revision <= this.#compacted) throw new CompactedError(revision, this.#compacted)
    if (revision > this.#revision) throw new FutureRevisionError(revision, this.#revision)
  }

  /** Closes history up to `revision` for readers; `forget` then frees it. */
  compact(revision: number): void {
    this.#compacted = Math.max(this.#compacted, revision)
  }

  /** Whether there is closed history to free. */
  get canForget(): boolean {
    return this.history.first <= this.#compacted
  }

  /** Frees up to `limit` changes of the closed history, and tells which versions went. */
  forget(limit: number, onForgotten: (version: Version) => void): void {
    for (let count = 0; count < limit; count++) {
      const change = this.history.shift(this.#compacted)
      for (const version of change?.versions ?? []) this.#forgetBefore(version, onForgotten)
    }
  }

  /** What the version superseded is out of reach for good, and so is the version itself where it is a tombstone. */
  #forgetBefore(version: Version, onForgotten: (version: Version) => void): void {
    this.#historyBytes -= supersededBytes(version)
    // A tombstone below was reported when its own change was forgotten.
    if (version.older && !version.older.deleted) onForgotten(version.older)
    version.older = undefined
    if (!version.deleted) return
    onForgotten(version)
    this.#dropIfForgotten(version)
  }

  #dropIfForgotten(version: Version): void {
    if (!version.deleted || version.kv.modRevision > this.#compacted) return
    const entry = this.#index.get(version.kv.key)
    if (entry?.newest === version) this.#index.remove(entry)
  }

  #push(version: Version): void {
    this.#index.push(version)
    this.#leases.move(version.kv.key, version.older?.kv.lease ?? 0n, version.kv.lease)
    this.#historyBytes += supersededBytes(version)
  }

  #apply(operation: Operation, change: VersionedChange): OperationResult {
    if ('range' in operation) {
      const at = operation.range.revision || change.revision
      return { range: this.#read(operation.range, at, this.#head) }
    }
    if ('put' in operation) {
      const { key, value, lease = 0n } = operation.put
      const older = this.#index.get(key)?.newest
      const prev = older && !older.deleted ? older.kv : undefined
      const createRevision = prev?.createRevision ?? change.revision
      const kv: KeyValue = { key, value, createRevision, modRevision: change.revision, version: (prev?.version ?? 0) + 1, lease }
      this.#add({ kv, deleted: false, older, row: 0 }, change)
      return { put: { prev } }
    }
    const prev = this.#read(operation.delete, change.revision, this.#head).kvs
    for (const { key } of prev) this.#add(this.#tombstone(key, change.revision), change)
    return { delete: { deleted: prev.length, prev } }
  }

  #tombstone(key: string, revision: number): Version {
    const kv = { key, value: noValue, createRevision: 0, modRevision: revision, version: 0, lease: 0n }
    return { kv, deleted: true, older: this.#index.get(key)?.newest, row: 0 }
  }

  #add(version: Version, change: VersionedChange): void {
    this.#push(version)
    change.versions.push(version)
  }

  #newest(key: string): KeyValue | undefined {
    const version = this.#index.get(key)?.newest
    return version && !version.deleted ? version.kv : undefined
  }

  #checkAgainstHead(operation: Operation): void {
    if ('range' in operation) this.#readableAt(operation.range.revision, this.#head)
    if ('put' in operation && operation.put.lease) this.#leases.check(operation.put.lease)
  }

  #readableAt(asked: number | undefined, newest: number): number {
    if (!asked) return newest
    if (asked < this.#compacted) throw new CompactedError(asked, this.#compacted)
    if (asked > newest) throw new FutureRevisionError(asked, newest)
    return asked
  }

  #read(request: KeyRange & RangeRequest, at: number, revision: number): RangeResult {
    const limit = request.countOnly ? 0 : request.limit || Number.POSITIVE_INFINITY
    const kvs: KeyValue[] = []
    let count = 0
    for (const { block, from, to } of this.#index.slices(request)) {
      const isUnchanged = block.changed <= at
      const isWhole = to - from === block.entries.length
      if (isUnchanged && isWhole && kvs.length >= limit) {
        count += block.live
        continue
      }
      for (let index = from; index < to; index++) {
        const entry = block.entries[index] as KeyEntry
        const version = isUnchanged ? entry.newest : versionAt(entry, at)
        if (!version || version.deleted) continue
        count++
        if (kvs.length < limit) kvs.push(request.keysOnly ? { ...version.kv, value: noValue } : version.kv)
      }
    }
    return { revision, kvs, count, more: !request.countOnly && count > kvs.length }
  }
}

function versionAt(entry: KeyEntry, revision: number): Version | undefined {
  let version: Version | undefined = entry.newest
  while (version && version.kv.modRevision > revision) version = version.older
  return version
}

const objectBytes = 300

/** What a version adds to history: the one it replaces, or itself where it is a tombstone. */
function supersededBytes(version: Version): number {
  const replaced = version.older ? version.older.kv.value.byteLength + objectBytes : 0
  return version.deleted ? replaced + objectBytes : replaced
}
