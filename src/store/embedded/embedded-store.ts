import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Commit, Journal, JournalListener } from '#store/embedded/journal.ts'
import { Retention } from '#store/embedded/retention.ts'
import { type LeaseState, Leases } from '#store/lease/leases.ts'
import { Mvcc, type Outcome } from '#store/mvcc/mvcc.ts'
import {
  type Lease,
  OutcomeUnknownError,
  type RangeRequest,
  type RangeResult,
  type Store,
  StoreError,
  StoreUnavailableError,
  type Transaction,
  type TransactionResult,
  type Watch,
  type WatchRequest,
} from '#store/store.ts'
import { WatchHub } from '#store/watch/watch-hub.ts'

export type EmbeddedStoreOptions = {
  clock: Clock
  /** How long history is kept: 5 minutes unless told; `Infinity` keeps it until `compact` is called. */
  historyMs?: number
  /** How much memory history may take before its oldest part goes ahead of time. */
  historyBytes?: number
}

const defaultHistoryMs = 5 * 60_000
const defaultHistoryBytes = 256 * 1024 * 1024
/** Forgetting is done in slices, so that it does not hold up requests. */
const forgottenPerSlice = 1_000

/** A commit on its way to the journal. */
type Pending = { commit: Commit; onSettled(): void; reject(error: Error): void; revoked: LeaseState | undefined }

/** The state in memory, the watches and the leases of a store that lives in this process; a journal makes it durable. */
export class EmbeddedStore implements Store, JournalListener {
  readonly #clock: Clock
  readonly #journal: Journal
  readonly #historyBytes: number
  readonly #leases: Leases
  readonly #mvcc: Mvcc
  readonly #hub: WatchHub
  readonly #retention: Retention
  #pending: Pending[] = []
  #isForgetting = false
  #isCompacting = false
  #isClosed = false
  #trouble: Error | undefined

  protected constructor(options: EmbeddedStoreOptions, journal: Journal) {
    this.#clock = options.clock
    this.#journal = journal
    this.#historyBytes = options.historyBytes ?? defaultHistoryBytes
    // A store that has failed says so itself; its leases are read again when it is opened again.
    this.#leases = new Leases(options.clock, (id) => void this.revokeLease(id).catch(() => undefined))
    const mvcc = new Mvcc(this.#leases)
    this.#mvcc = mvcc
    this.#hub = new WatchHub(options.clock, {
      get revision() {
        return mvcc.revision
      },
      get newest() {
        return mvcc.revision
      },
      get compacted() {
        return mvcc.compacted
      },
      from: (revision, limit) => mvcc.history.from(revision, limit),
    })
    this.#retention = new Retention(options.clock, options.historyMs ?? defaultHistoryMs, (revision) => this.#compactIfAhead(revision))
    journal.start(this)
  }

  /** For filling the store before anybody uses it. */
  protected get contents(): { mvcc: Mvcc; leases: Leases } {
    return { mvcc: this.#mvcc, leases: this.#leases }
  }

  /** What was there before is as old as the store is open. */
  protected startAging(): void {
    this.#retention.note(this.#mvcc.revision)
  }

  get revision(): number {
    return this.#mvcc.revision
  }
  get compactedRevision(): number {
    return this.#mvcc.compacted
  }
  get trouble(): Error | undefined {
    return this.#trouble
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    this.#checkOpen()
    return this.#mvcc.range(request)
  }

  async txn(transaction: Transaction, onEvaluated?: (result: TransactionResult) => void): Promise<TransactionResult> {
    this.#checkOpen()
    if (this.#trouble && canWrite(transaction)) this.#refuse()
    const outcome = this.#mvcc.evaluate(transaction)
    const { succeeded, revision, results } = outcome
    const result = { succeeded, revision, results }
    const isDurable = this.#whenDurable(outcome)
    onEvaluated?.(result)
    await isDurable
    return result
  }

  watch(request: WatchRequest): Watch {
    this.#checkOpen()
    return this.#hub.watch(request)
  }

  async grantLease(ttlSeconds: number, id = 0n): Promise<Lease> {
    this.#checkWritable()
    const lease = this.#leases.add(ttlSeconds, id)
    const leaseGranted = { id: lease.id, grantedSeconds: lease.grantedSeconds }
    await this.#append({ leaseGranted })
    return lease
  }

  async keepLeaseAlive(id: bigint): Promise<Lease> {
    this.#checkOpen()
    return this.#leases.renew(id)
  }

  async revokeLease(id: bigint): Promise<void> {
    this.#checkWritable()
    const keys = this.#leases.keysOf(id)
    const { change } = this.#mvcc.evaluate({ success: keys.map((key) => ({ delete: { key } })) })
    await this.#append({ leaseRevoked: id, ...defined({ change }) }, this.#leases.remove(id))
  }

  async leases(): Promise<Lease[]> {
    this.#checkOpen()
    return this.#leases.list()
  }

  async leaseKeys(id: bigint): Promise<string[]> {
    this.#checkOpen()
    return this.#leases.keysOf(id)
  }

  async compact(revision: number): Promise<void> {
    this.#checkWritable()
    this.#mvcc.checkCompaction(revision)
    await this.#append({ compacted: revision })
  }

  size(): Promise<{ totalBytes: number; usedBytes: number }> {
    this.#checkOpen()
    return this.#journal.size()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#retention.close()
    this.#leases.close()
    await this.#journal.close()
    this.#hub.close(new StoreError('the store was closed'))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  onSettled(count: number): void {
    for (const { commit, onSettled } of this.#pending.splice(0, count)) {
      if (commit.change) {
        this.#mvcc.settle(commit.change)
        this.#retention.note(commit.change.revision)
        this.#hub.deliver(commit.change)
      }
      if (commit.compacted) this.#mvcc.compact(commit.compacted)
      onSettled()
    }
    this.#forgetSoon()
  }

  onRefused(kept: number, error: Error): void {
    for (const { commit, reject, revoked } of this.#pending.splice(kept).reverse()) {
      if (revoked) this.#leases.putBack(revoked)
      if (commit.change) this.#mvcc.rollback(commit.change)
      if (commit.leaseGranted) this.#leases.remove(commit.leaseGranted.id)
      reject(new StoreUnavailableError(`nothing was written: ${error.message}`, { cause: error }))
    }
  }

  onUncertain(count: number, error: Error): void {
    for (const { reject } of this.#pending.slice(0, count)) {
      reject(new OutcomeUnknownError(`it is not known whether this was written: ${error.message}`, { cause: error }))
    }
  }

  onTrouble(error: Error | undefined): void {
    this.#trouble = error
  }

  /** Also where nothing was changed, the answer may rest on changes that are still on their way. */
  async #whenDurable({ change }: Outcome): Promise<void> {
    if (change) await this.#append({ change })
    else if (this.#pending.length > 0) await this.#append({})
  }

  #append(commit: Commit, revoked?: LeaseState): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ commit, onSettled: resolve, reject, revoked })
      this.#journal.append(commit)
    })
  }

  #compactIfAhead(revision: number): void {
    if (this.#isClosed || this.#trouble || this.#isCompacting || revision <= this.#mvcc.compacted) return
    this.#isCompacting = true
    this.compact(revision)
      // A store that has failed says so itself; what was not compacted is compacted with the next revision.
      .catch(() => undefined)
      .finally(() => {
        this.#isCompacting = false
      })
  }

  /** Never at once: a receiver may be in the middle of what would be forgotten. */
  #forgetSoon(): void {
    if (this.#isForgetting || this.#isClosed) return
    if (this.#mvcc.canForget) {
      this.#isForgetting = true
      this.#clock.soon(() => {
        this.#isForgetting = false
        if (this.#isClosed) return
        this.#mvcc.forget(forgottenPerSlice, (version) => this.#journal.forget(version))
        this.#forgetSoon()
      })
    } else if (this.#mvcc.historyBytes > this.#historyBytes) {
      // The oldest half has to go before its time.
      this.#compactIfAhead(Math.floor((this.#mvcc.compacted + this.#mvcc.revision) / 2))
    }
  }

  /** Resolves when nothing that was compacted is kept any more. */
  protected async whenForgotten(): Promise<void> {
    while (this.#isForgetting) await new Promise<void>((resolve) => this.#clock.soon(resolve))
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new StoreUnavailableError('the store is closed')
  }

  #checkWritable(): void {
    this.#checkOpen()
    if (this.#trouble) this.#refuse()
  }

  #refuse(): never {
    throw new StoreUnavailableError(`nothing was written: ${this.#trouble?.message}`, { cause: this.#trouble })
  }
}

function canWrite(transaction: Transaction): boolean {
  return [...transaction.success, ...(transaction.failure ?? [])].some((operation) => !('range' in operation))
}
