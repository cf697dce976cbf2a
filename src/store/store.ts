/**
 * etcd's promises, as the API server needs them: one total order of revisions, compare-and-swap transactions,
 * reads at a revision, watches that miss and repeat nothing, leases, compaction.
 */
export type Store = AsyncDisposable & {
  /** The newest revision this store knows of. A write that was acknowledged is never above it. */
  readonly revision: number
  /** The oldest revision that can still be read; watches start above it. */
  readonly compactedRevision: number

  /** Reads a range of keys, in key order, all at one revision. Throws `CompactedError` or `FutureRevisionError`. */
  range(request: RangeRequest): Promise<RangeResult>

  /**
   * If all comparisons hold, does `success`, else `failure`; all of it in one revision, or none of it.
   * Resolves once the outcome is durable. When it rejects the outcome is unknown, unless the error says otherwise.
   * `onEvaluated` is told the outcome before that, within the call, by stores that know it then: whoever builds on it gets an
   * outcome of his own that holds only if this one does.
   */
  txn(transaction: Transaction, onEvaluated?: (result: TransactionResult) => void): Promise<TransactionResult>

  /**
   * Delivers every change to the range from `fromRevision` on (absent: from now), in order, each once; changes made by one
   * transaction come in one batch. Calls `onEvents` synchronously, never before `watch` has returned.
   * Throws `CompactedError` where the start is compacted already, `FutureRevisionError` where it is more than one above the
   * newest; a store that has to ask over a network ends the watch with these instead.
   */
  watch(request: WatchRequest): Watch

  /** Grants a lease; its keys are deleted `ttlSeconds` after the last keep-alive. An id of 0, or none, lets the store choose. */
  grantLease(ttlSeconds: number, id?: bigint): Promise<Lease>
  /** Resolves with the remaining time to live; throws `LeaseNotFoundError`. */
  keepLeaseAlive(id: bigint): Promise<Lease>
  /** Deletes the lease and its keys. */
  revokeLease(id: bigint): Promise<void>
  /** All leases, or, for one, the keys attached to it. */
  leases(): Promise<Lease[]>
  leaseKeys(id: bigint): Promise<string[]>

  /** Forgets history up to and including `revision`, but never the newest value of a live key. */
  compact(revision: number): Promise<void>
  /** Bytes the data takes where it is kept, and how many of those are in use. */
  size(): Promise<{ totalBytes: number; usedBytes: number }>
  /** Gives back what `size` shows as not in use; absent where that is somebody else's business. */
  defragment?(): Promise<void>
  /** Why writes are refused (disk full, disk failing, connection lost), or undefined while all is well. */
  readonly trouble: Error | undefined
  /** What the database complains of to whoever asks, though reads and this connection are well; absent where it never does. */
  alarm?(): Promise<string | undefined>
  close(): Promise<void>
}

/** A key and its value as it was at some revision. The bytes are shared: nobody may change them. */
export type KeyValue = {
  key: string
  value: Uint8Array
  createRevision: number
  modRevision: number
  /** 1 for a fresh key, one more with each change. */
  version: number
  /** 0n when the key has no lease. */
  lease: bigint
}

/** One key, all keys under a prefix, or all keys from `key` up to but without `end`; an `end` of '\0' is past every key. */
export type KeyRange =
  | { key: string; end?: undefined; prefix?: undefined }
  | { prefix: string; key?: undefined; end?: undefined }
  | { key: string; end: string; prefix?: undefined }

export type RangeRequest = KeyRange & {
  /** Absent, or 0: the newest. */
  revision?: number
  limit?: number
  keysOnly?: boolean
  countOnly?: boolean
}

export type RangeResult = {
  /** The revision of the store when the range was read (not the one asked for). */
  revision: number
  kvs: KeyValue[]
  /** How many keys the range holds, whatever the limit. */
  count: number
  more: boolean
}

export type Compare = { key: string } & (
  | { target: 'modRevision' | 'createRevision' | 'version'; op: CompareOp; value: number }
  | { target: 'value'; op: CompareOp; value: Uint8Array }
  | { target: 'lease'; op: CompareOp; value: bigint }
)
/** A key that does not exist has revisions and version 0; comparing its value fails. */
export type CompareOp = '=' | '!=' | '<' | '>'

export type Operation = { put: { key: string; value: Uint8Array; lease?: bigint } } | { delete: KeyRange } | { range: RangeRequest }

export type Transaction = { compare?: Compare[]; success: Operation[]; failure?: Operation[] }

export type OperationResult =
  | { put: { prev: KeyValue | undefined } }
  | { delete: { deleted: number; prev: KeyValue[] } }
  | { range: RangeResult }

export type TransactionResult = {
  succeeded: boolean
  /** The revision the changes got; where nothing changed, the store's newest. */
  revision: number
  results: OperationResult[]
}

export type StoreEvent =
  | { type: 'put'; kv: KeyValue; prev: KeyValue | undefined }
  /** `kv` has the key and, as modRevision, the revision of the deletion. */
  | { type: 'delete'; kv: KeyValue; prev: KeyValue | undefined }

export type WatchRequest = KeyRange & {
  fromRevision?: number
  onEvents(events: StoreEvent[], revision: number): void
  /** Everything up to `revision` was delivered; called while nothing happens in the range, at least each 10 s where asked for. */
  onProgress?(revision: number): void
  /** The watch is over and cannot be resumed by the store itself: compacted, or the store has closed. */
  onEnd?(error: Error): void
}

export type Watch = Disposable & {
  cancel(): void
  /** Resolves once everything committed before the call was delivered. */
  progress(): Promise<number>
  /** Up to where everything is delivered, where that can be told at once: by a store in this process, outside its deliveries. */
  delivered?(): number | undefined
}

export type Lease = { id: bigint; ttlSeconds: number; grantedSeconds: number }

export class StoreError extends Error {
  override name = 'StoreError'
}
/** Reads and watches that reach back before the kept history. */
export class CompactedError extends StoreError {
  override name = 'CompactedError'
  readonly compactedRevision: number
  constructor(asked: number, compactedRevision: number) {
    super(`revision ${asked} has been compacted (history starts after ${compactedRevision})`)
    this.compactedRevision = compactedRevision
  }
}
export class FutureRevisionError extends StoreError {
  override name = 'FutureRevisionError'
  readonly revision: number
  constructor(asked: number, revision: number) {
    super(`revision ${asked} is in the future (the newest is ${revision})`)
    this.revision = revision
  }
}
export class LeaseNotFoundError extends StoreError {
  override name = 'LeaseNotFoundError'
}
export class LeaseExistsError extends StoreError {
  override name = 'LeaseExistsError'
}
export class EmptyKeyError extends StoreError {
  override name = 'EmptyKeyError'
}
/** Keys are text; what has no UTF-8 form is not. */
export class InvalidKeyError extends StoreError {
  override name = 'InvalidKeyError'
}
export class ValueTooLargeError extends StoreError {
  override name = 'ValueTooLargeError'
  /** Undefined where only the backend knows. */
  readonly limitBytes: number | undefined

  constructor(message: string, limitBytes?: number) {
    super(message)
    this.limitBytes = limitBytes
  }
}
export class DuplicateKeyError extends StoreError {
  override name = 'DuplicateKeyError'
}
/** The write was under way when the trouble began: it may turn out to be done, or not. */
export class OutcomeUnknownError extends StoreError {
  override name = 'OutcomeUnknownError'
}
/** Nothing was written, and nothing will be until the trouble is over. */
export class StoreUnavailableError extends StoreError {
  override name = 'StoreUnavailableError'
}
