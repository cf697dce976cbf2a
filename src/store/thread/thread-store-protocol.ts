/** What the thread that owns a store and the threads that use it say to each other. Messages arrive in the order they were posted. */
import type { Change } from '#store/mvcc/history.ts'
import type { Lease, RangeRequest, RangeResult, Transaction, TransactionResult } from '#store/store.ts'

/** The calls, each with what it takes and what it gives. */
export type StoreCalls = {
  /** The first one: every change after the answer's revision is posted from then on. */
  follow: { takes: undefined; gives: undefined }
  range: { takes: RangeRequest; gives: RangeResult }
  txn: { takes: Transaction; gives: TransactionResult }
  /** Resolves once everything that was acknowledged before was posted. */
  progress: { takes: undefined; gives: undefined }
  /** Up to `limit` changes of the past. */
  past: { takes: { from: number; to: number; limit: number }; gives: Change[] }
  grantLease: { takes: { ttlSeconds: number; id: bigint | undefined }; gives: Lease }
  keepLeaseAlive: { takes: bigint; gives: Lease }
  revokeLease: { takes: bigint; gives: undefined }
  leases: { takes: undefined; gives: Lease[] }
  leaseKeys: { takes: bigint; gives: string[] }
  compact: { takes: number; gives: undefined }
  size: { takes: undefined; gives: { totalBytes: number; usedBytes: number } }
}

export type StoreCall = keyof StoreCalls
export type StoreRequest<Name extends StoreCall = StoreCall> = { id: number; call: Name; takes: StoreCalls[Name]['takes'] }

/** How the store was when the message was posted. */
export type StoreState = { revision: number; compacted: number; trouble: string | undefined }

export type StoreMessage = StoreState &
  (
    | { id: number; gives: StoreCalls[StoreCall]['gives'] }
    | { id: number; error: PostedError }
    | { change: Change }
    /** Changes are missing, since those that were not posted yet were compacted. */
    | { gap: true }
  )

/** Errors lose their class on the way. */
export type PostedError = { name: string; message: string; limitBytes?: number }

/** One side of the way between the two. */
export type StoreChannel<In, Out> = { post(message: Out): void; onMessage(receive: (message: In) => void): void }
