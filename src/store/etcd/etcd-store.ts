import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { alarmText, listAlarms } from '#store/etcd/etcd-alarms.ts'
import { EtcdCompactor } from '#store/etcd/etcd-compactor.ts'
import { EtcdConnection, type EtcdTls } from '#store/etcd/etcd-connection.ts'
import { storeErrorOf } from '#store/etcd/etcd-errors.ts'
import { EtcdFollower, readPast } from '#store/etcd/etcd-follower.ts'
import { keepAliveOnce } from '#store/etcd/etcd-leases.ts'
import { rangeRequestOf, rangeResultOf, txnRequestOf, txnResultOf } from '#store/etcd/etcd-transactions.ts'
import { checkRange, checkTransaction } from '#store/mvcc/check-transaction.ts'
import {
  type Lease,
  LeaseNotFoundError,
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
import { FollowedWatches } from '#store/watch/followed-watches.ts'
import { SharedQuestion } from '#store/watch/shared-question.ts'
import { etcdMethods, type HeaderOnly } from '#wire/etcd-messages.ts'

export type EtcdStoreOptions = {
  clock: Clock
  logger: Logger
  /** `host:port`, or URLs; several for the members of one cluster. */
  endpoints: string[]
  tls?: EtcdTls
  /** How often history is compacted: 5 minutes unless told; `Infinity` leaves it to others. */
  compactEveryMs?: number
  /** How long calls are tried again while no endpoint answers. */
  patienceMs?: number
  /** Called once, when the store is closed, or could not be opened. */
  onClose?: () => void
}

const defaultCompactionMs = 5 * 60_000

/** A real etcd. Throws where no endpoint answers in time. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<EtcdStore> {
  const connection = new EtcdConnection(options)
  try {
    const { header } = await connection.read(etcdMethods.range, { key: Buffer.from([0]), countOnly: true })
    return new EtcdStore(options, connection, header?.revision ?? 0)
  } catch (error) {
    await connection.close()
    options.onClose?.()
    throw storeErrorOf(error, { revision: 0, compacted: 0, newest: 0 })
  }
}

export class EtcdStore implements Store {
  readonly #connection: EtcdConnection
  readonly #follower: EtcdFollower
  /** Each read that must not be old asks it: together they cost little more than one. */
  readonly #newest: SharedQuestion<number>
  readonly #watches: FollowedWatches
  readonly #compactor: EtcdCompactor | undefined
  readonly #onClose: (() => void) | undefined
  #revision: number
  #compacted = 0
  #trouble: Error | undefined
  #isClosed = false

  constructor(options: EtcdStoreOptions, connection: EtcdConnection, revision: number) {
    const { clock, logger, compactEveryMs = defaultCompactionMs, onClose } = options
    this.#onClose = onClose
    this.#connection = connection
    this.#revision = revision
    this.#newest = new SharedQuestion(clock, () => this.#askRevision())
    this.#follower = new EtcdFollower({
      clock,
      logger,
      connection,
      onChange: (change) => {
        this.#revision = Math.max(this.#revision, change.revision)
        this.#watches.deliver(change)
      },
      onGap: (compacted) => this.#startAnew(compacted),
      onTrouble: (error) => {
        this.#trouble = error
      },
    })
    this.#watches = new FollowedWatches(clock, this.#source(), revision)
    this.#follower.start(revision)
    if (Number.isFinite(compactEveryMs)) this.#compactor = new EtcdCompactor(this, { clock, logger, periodMs: compactEveryMs })
  }

  get revision(): number {
    return this.#revision
  }
  /** What this process has learned of compactions; others may have gone further. */
  get compactedRevision(): number {
    return this.#compacted
  }
  get trouble(): Error | undefined {
    return this.#trouble
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    this.#checkOpen()
    checkRange(request)
    const response = await this.#asking(request.revision, this.#connection.read(etcdMethods.range, rangeRequestOf(request)))
    return rangeResultOf(response, response.header?.revision ?? 0)
  }

  async txn(transaction: Transaction): Promise<TransactionResult> {
    this.#checkOpen()
    checkTransaction(transaction)
    const operations = [...transaction.success, ...(transaction.failure ?? [])]
    const asked = operations.flatMap((operation) => ('range' in operation ? (operation.range.revision ?? []) : []))
    const canRepeat = operations.every((operation) => 'range' in operation)
    const request = txnRequestOf(transaction)
    const call = canRepeat ? this.#connection.read(etcdMethods.txn, request) : this.#connection.write(etcdMethods.txn, request)
    return txnResultOf(await this.#asking(asked[0], call))
  }

  watch(request: WatchRequest): Watch {
    this.#checkOpen()
    return this.#watches.watch(request)
  }

  async grantLease(ttlSeconds: number, id = 0n): Promise<Lease> {
    this.#checkOpen()
    const { id: granted, ttl } = await this.#asking(0, this.#connection.write(etcdMethods.leaseGrant, { ttl: Math.ceil(ttlSeconds), id }))
    return { id: granted, ttlSeconds: ttl, grantedSeconds: ttl }
  }

  async keepLeaseAlive(id: bigint): Promise<Lease> {
    this.#checkOpen()
    const { ttl } = await this.#asking(0, keepAliveOnce(this.#connection, id))
    return { id, ttlSeconds: ttl, grantedSeconds: ttl }
  }

  async revokeLease(id: bigint): Promise<void> {
    this.#checkOpen()
    await this.#asking(0, this.#connection.write(etcdMethods.leaseRevoke, { id }))
  }

  async leases(): Promise<Lease[]> {
    this.#checkOpen()
    const { leases } = await this.#asking(0, this.#connection.read(etcdMethods.leaseLeases, {}))
    const described = await Promise.all(leases.map(({ id }) => this.#connection.read(etcdMethods.leaseTimeToLive, { id })))
    // One that ran out in between has a negative time to live.
    return described.filter(({ ttl }) => ttl >= 0).map(({ id, ttl, grantedTtl }) => ({ id, ttlSeconds: ttl, grantedSeconds: grantedTtl }))
  }

  async leaseKeys(id: bigint): Promise<string[]> {
    this.#checkOpen()
    const { ttl, keys } = await this.#asking(0, this.#connection.read(etcdMethods.leaseTimeToLive, { id, keys: true }))
    if (ttl < 0) throw new LeaseNotFoundError(`lease ${id} does not exist`)
    return keys.map((key) => Buffer.from(key).toString()).sort()
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen()
    await this.#asking(revision, this.#connection.write(etcdMethods.compact, { revision }))
    this.#compacted = Math.max(this.#compacted, revision)
  }

  async size(): Promise<{ totalBytes: number; usedBytes: number }> {
    this.#checkOpen()
    const { dbSize, dbSizeInUse } = await this.#asking(0, this.#connection.read(etcdMethods.status, {}))
    return { totalBytes: dbSize, usedBytes: dbSizeInUse }
  }

  async alarm(): Promise<string | undefined> {
    this.#checkOpen()
    return alarmText((await this.#asking(0, this.#connection.read(etcdMethods.alarm, listAlarms))).alarms)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#compactor?.close()
    this.#follower.close()
    this.#watches.close(new StoreError('the store was closed'))
    await this.#connection.close()
    this.#onClose?.()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Resolves when everything that is committed anywhere now has been passed on. */
  async #catchUp(): Promise<number> {
    const newest = await this.#newest.ask()
    await this.#follower.reached(newest)
    return newest
  }

  /** A linearizable read, so that nothing acknowledged anywhere is above the answer. */
  async #askRevision(): Promise<number> {
    const { header } = await this.#asking(0, this.#connection.read(etcdMethods.range, { key: Buffer.from([0]), countOnly: true }))
    return header?.revision ?? 0
  }

  async #startAnew(compacted: number): Promise<number> {
    const revision = await this.#newest.ask()
    this.#compacted = Math.max(this.#compacted, compacted)
    this.#watches.startAnew(revision, compacted)
    return revision
  }

  /** Learns from every answer, and turns etcd's errors into the store's. */
  async #asking<Response extends object>(asked: number | undefined, call: Promise<Response>): Promise<Response> {
    try {
      const response = await call
      this.#revision = Math.max(this.#revision, (response as Partial<HeaderOnly>).header?.revision ?? 0)
      return response
    } catch (error) {
      throw storeErrorOf(error, { revision: asked ?? 0, compacted: this.#compacted, newest: this.#revision })
    }
  }

  #source() {
    const store = this
    return {
      get position() {
        return store.#follower.position
      },
      get newest() {
        return store.#revision
      },
      get compacted() {
        return store.#compacted
      },
      catchUp: () => store.#catchUp(),
      askNewest: () => store.#newest.ask(),
      readPast: (revision: number, limit: number) => readPast(store.#connection, revision, store.#follower.position, limit),
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new StoreUnavailableError('the store is closed')
  }
}
