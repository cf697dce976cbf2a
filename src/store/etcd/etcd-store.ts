import type { Clock } from '#base/clock.ts'
import type { GrpcTls } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import { EtcdCompactor } from '#store/etcd/etcd-compactor.ts'
import { EtcdConnection } from '#store/etcd/etcd-connection.ts'
import { storeErrorOf } from '#store/etcd/etcd-errors.ts'
import { EtcdFollower, readPast } from '#store/etcd/etcd-follower.ts'
import { keepAliveOnce } from '#store/etcd/etcd-leases.ts'
import { rangeRequestOf, rangeResultOf, txnRequestOf, txnResultOf } from '#store/etcd/etcd-transactions.ts'
import { RecentChanges } from '#store/etcd/recent-changes.ts'
import { checkRange, checkTransaction } from '#store/mvcc/check-transaction.ts'
import {
  CompactedError,
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
import { WatchHub } from '#store/watch/watch-hub.ts'
import { etcdMethods, type HeaderOnly } from '#wire/etcd-messages.ts'

export type EtcdStoreOptions = {
  clock: Clock
  logger: Logger
  /** `host:port`, or URLs; several for the members of one cluster. */
  endpoints: string[]
  tls?: GrpcTls
  /** How often history is compacted: 5 minutes unless told; `Infinity` leaves it to others. */
  compactEveryMs?: number
  /** How long calls are tried again while no endpoint answers. */
  patienceMs?: number
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
    throw storeErrorOf(error, { revision: 0, compacted: 0, newest: 0 })
  }
}

export class EtcdStore implements Store {
  readonly #connection: EtcdConnection
  readonly #follower: EtcdFollower
  readonly #hub: WatchHub
  readonly #compactor: EtcdCompactor | undefined
  #recent: RecentChanges
  #revision: number
  #compacted = 0
  #trouble: Error | undefined
  #isClosed = false

  constructor({ clock, logger, compactEveryMs = defaultCompactionMs }: EtcdStoreOptions, connection: EtcdConnection, revision: number) {
    this.#connection = connection
    this.#revision = revision
    this.#recent = new RecentChanges(revision)
    this.#follower = new EtcdFollower({
      clock,
      logger,
      connection,
      onChange: (change) => {
        this.#revision = Math.max(this.#revision, change.revision)
        this.#recent.push(change)
        this.#hub.deliver(change)
      },
      onGap: (compacted) => this.#startAnew(compacted),
      onTrouble: (error) => {
        this.#trouble = error
      },
    })
    this.#hub = new WatchHub(clock, this.#past())
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
    // Somebody else may have told the caller of a revision that has not been heard of here yet.
    if ((request.fromRevision ?? 0) > this.#revision + 1) return this.#watchFromAhead(request)
    const watch = this.#hub.watch(request)
    const { cancel } = watch
    // Nobody here can tell what others have written without asking.
    return { cancel, [Symbol.dispose]: cancel, progress: () => this.#catchUp().then(() => watch.progress()) }
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

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#compactor?.close()
    this.#follower.close()
    this.#hub.close(new StoreError('the store was closed'))
    await this.#connection.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #watchFromAhead(request: WatchRequest): Watch {
    let isCancelled = false
    let watch: Watch | undefined
    const started = this.#newestRevision().then(() => {
      if (!isCancelled) watch = this.#hub.watch(request)
    })
    started.catch((error: Error) => request.onEnd?.(error))
    const cancel = () => {
      isCancelled = true
      watch?.cancel()
    }
    const progress = async () => {
      await started
      const newest = await this.#catchUp()
      return watch?.progress() ?? newest
    }
    return { cancel, [Symbol.dispose]: cancel, progress }
  }

  /** Resolves when everything that is committed anywhere now has been passed on. */
  async #catchUp(): Promise<number> {
    const newest = await this.#newestRevision()
    await this.#follower.reached(newest)
    return newest
  }

  /** A linearizable read, so that nothing acknowledged anywhere is above the answer. */
  async #newestRevision(): Promise<number> {
    const { header } = await this.#asking(0, this.#connection.read(etcdMethods.range, { key: Buffer.from([0]), countOnly: true }))
    return header?.revision ?? 0
  }

  async #startAnew(compacted: number): Promise<number> {
    const revision = await this.#newestRevision()
    this.#compacted = Math.max(this.#compacted, compacted)
    this.#hub.close(new CompactedError(this.#follower.position + 1, compacted))
    this.#recent = new RecentChanges(revision)
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

  #past() {
    const store = this
    return {
      get revision() {
        return store.#follower.position
      },
      get newest() {
        return store.#revision
      },
      get compacted() {
        return store.#compacted
      },
      from(revision: number, limit: number) {
        const isHere = revision >= store.#recent.first
        return isHere ? store.#recent.from(revision, limit) : readPast(store.#connection, revision, store.#follower.position, limit)
      },
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new StoreUnavailableError('the store is closed')
  }
}
