import type { VersionedChange } from '#store/mvcc/history.ts'
import type { Version } from '#store/mvcc/key-index.ts'

/** What has to be durable at once. */
export type Commit = {
  change?: VersionedChange
  leaseGranted?: { id: bigint; grantedSeconds: number }
  leaseRevoked?: bigint
  /** History up to this revision may be forgotten from now on. */
  compacted?: number
}

/**
 * Makes commits durable, in the order they are given. It answers for them in the same order, through its listener; it may
 * do so before `append` returns.
 */
export type Journal = {
  start(listener: JournalListener): void
  append(commit: Commit): void
  /** The version will never be read again: its place on disk is free. */
  forget(version: Version): void
  size(): Promise<{ totalBytes: number; usedBytes: number }>
  /** Resolves when nothing given is still under way. */
  close(): Promise<void>
}

export type JournalListener = {
  /** The oldest `count` commits under way are durable. */
  onSettled(count: number): void
  /** All commits under way but the oldest `kept` are not written, and never will be. */
  onRefused(kept: number, error: Error): void
  /** Whether the oldest `count` commits under way are durable cannot be told now; it will be, by one of the others. */
  onUncertain(count: number, error: Error): void
  /** Why nothing can be written now; undefined when that is over. */
  onTrouble(error: Error | undefined): void
}
