import type { Clock } from '#base/clock.ts'
import {
  CompactedError,
  DuplicateKeyError,
  EmptyKeyError,
  FutureRevisionError,
  InvalidKeyError,
  type Lease,
  LeaseExistsError,
  LeaseNotFoundError,
  OutcomeUnknownError,
  type RangeRequest,
  type RangeResult,
  type Store,
  StoreError,
  StoreUnavailableError,
  type Transaction,
  type TransactionResult,
  ValueTooLargeError,
  type Watch,
  type WatchRequest,
} from '#store/store.ts'
import type {
  PostedError,
  StoreCall,
  StoreCalls,
  StoreChannel,
  StoreMessage,
  StoreRequest,
  StoreState,
} from '#store/thread/thread-store-protocol.ts'
import { FollowedWatches } from '#store/watch/followed-watches.ts'
import { SharedQuestion } from '#store/watch/shared-question.ts'

type Waiting = { asked: number; resolve(gives: never): void; reject(error: Error): void }

/** The store of another thread of this process, which serves it by `serveStore`. */
export async function openThreadStore(clock: Clock, channel: StoreChannel<StoreMessage, StoreRequest>): Promise<Store> {
  const store = new ThreadStore(clock, channel)
  await store.follow()
  return store
}

class ThreadStore implements Store {
  readonly #channel: StoreChannel<StoreMessage, StoreRequest>
  readonly #waiting = new Map<number, Waiting>()
  readonly #watches: FollowedWatches
  /** Each read that must not be old asks it. */
  readonly #progress: SharedQuestion<unknown>
  #lastId = 0
  #state: StoreState = { revision: 0, compacted: 0, trouble: undefined }
  /** Up to where every change was passed on. */
  #position = 0
  #isClosed = false

  constructor(clock: Clock, channel: StoreChannel<StoreMessage, StoreRequest>) {
    this.#channel = channel
    this.#progress = new SharedQuestion(clock, () => this.#call('progress', undefined))
    this.#watches = new FollowedWatches(clock, this.#source(), 0)
    channel.onMessage((message) => this.#receive(message))
  }

  get revision(): number {
    return this.#state.revision
  }
  get compactedRevision(): number {
    return this.#state.compacted
  }
  get trouble(): Error | undefined {
    const { trouble } = this.#state
    return trouble === undefined ? undefined : new StoreUnavailableError(trouble)
  }

  /** Begins where the store is now. */
  async follow(): Promise<void> {
    await this.#call('follow', undefined)
    this.#position = this.#state.revision
    this.#watches.startAnew(this.#position, this.#state.compacted)
  }

  range(request: RangeRequest): Promise<RangeResult> {
    return this.#call('range', request, request.revision)
  }

  txn(transaction: Transaction): Promise<TransactionResult> {
    const operations = [...transaction.success, ...(transaction.failure ?? [])]
    const asked = operations.flatMap((operation) => ('range' in operation ? (operation.range.revision ?? []) : []))
    return this.#call('txn', transaction, asked[0])
  }

  watch(request: WatchRequest): Watch {
    this.#checkOpen()
    return this.#watches.watch(request)
  }

  grantLease(ttlSeconds: number, id?: bigint): Promise<Lease> {
    return this.#call('grantLease', { ttlSeconds, id })
  }
  keepLeaseAlive(id: bigint): Promise<Lease> {
    return this.#call('keepLeaseAlive', id)
  }
  revokeLease(id: bigint): Promise<void> {
    return this.#call('revokeLease', id)
  }
  leases(): Promise<Lease[]> {
    return this.#call('leases', undefined)
  }
  leaseKeys(id: bigint): Promise<string[]> {
    return this.#call('leaseKeys', id)
  }
  compact(revision: number): Promise<void> {
    return this.#call('compact', revision, revision)
  }
  size(): Promise<{ totalBytes: number; usedBytes: number }> {
    return this.#call('size', undefined)
  }

  /** Leaves; the store itself is closed by the thread that owns it. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#watches.close(new StoreError('the store was closed'))
    for (const { reject } of this.#waiting.values()) reject(new StoreUnavailableError('the store is closed'))
    this.#waiting.clear()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #call<Name extends StoreCall>(call: Name, takes: StoreCalls[Name]['takes'], asked = 0): Promise<StoreCalls[Name]['gives']> {
    this.#checkOpen()
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { asked, resolve, reject })
      this.#channel.post({ id, call, takes })
    })
  }

  #receive(message: StoreMessage): void {
    if (this.#isClosed) return
    const { revision, compacted, trouble } = message
    this.#state = { revision, compacted, trouble }
    if ('change' in message) {
      this.#position = message.change.revision
      this.#watches.deliver(message.change)
      return
    }
    if ('gap' in message) {
      // Ends the watches, whose owners begin anew. It only fails where this store is closed meanwhile, which ends them too.
      this.follow().catch(() => {})
      return
    }
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if ('gives' in message) waiting?.resolve(message.gives as never)
    else waiting?.reject(this.#errorOf(message.error, waiting.asked))
  }

  #errorOf({ name, message, limitBytes }: PostedError, asked: number): Error {
    switch (name) {
      case 'CompactedError':
        return new CompactedError(asked, this.#state.compacted)
      case 'FutureRevisionError':
        return new FutureRevisionError(asked, this.#state.revision)
      case 'ValueTooLargeError':
        return new ValueTooLargeError(message, limitBytes)
    }
    return new (plainErrors[name] ?? StoreError)(message)
  }

  #source() {
    const store = this
    return {
      get position() {
        return store.#position
      },
      get newest() {
        return store.#state.revision
      },
      get compacted() {
        return store.#state.compacted
      },
      catchUp: () => store.#catchUp(),
      askNewest: () => store.#catchUp(),
      readPast: (from: number, limit: number) => store.#call('past', { from, to: store.#position, limit }, from),
    }
  }

  /** Whatever was posted before the answer has been received before it. */
  async #catchUp(): Promise<number> {
    await this.#progress.ask()
    return this.#position
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new StoreUnavailableError('the store is closed')
  }
}

const plainErrors: Readonly<Record<string, new (message: string) => Error>> = {
  LeaseNotFoundError,
  LeaseExistsError,
  EmptyKeyError,
  InvalidKeyError,
  DuplicateKeyError,
  OutcomeUnknownError,
  StoreUnavailableError,
}
