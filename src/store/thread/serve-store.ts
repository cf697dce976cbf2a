import { defined } from '#base/defined.ts'
import type { Change } from '#store/mvcc/history.ts'
import { type Store, ValueTooLargeError, type Watch } from '#store/store.ts'
import type { PostedError, StoreCall, StoreCalls, StoreChannel, StoreMessage, StoreRequest } from '#store/thread/thread-store-protocol.ts'

/** Lets another thread use this store, by a `ThreadStore` at the other end of the channel. */
export function serveStore(store: Store, channel: StoreChannel<StoreRequest, StoreMessage>): Disposable {
  const watches = new DisposableStack()
  const state = () => ({ revision: store.revision, compacted: store.compactedRevision, trouble: store.trouble?.message })
  let followed: Watch | undefined

  const follow = () => {
    followed = store.watch({
      prefix: '',
      onEvents: (events, revision) => channel.post({ change: { revision, events }, ...state() }),
      onEnd: () => channel.post({ gap: true, ...state() }),
    })
    watches.use(followed)
  }

  const calls: { [Name in StoreCall]: (takes: StoreCalls[Name]['takes']) => Promise<StoreCalls[Name]['gives']> } = {
    async follow() {
      followed?.cancel()
      follow()
      return undefined
    },
    range: (request) => store.range(request),
    txn: (transaction) => store.txn(transaction),
    async progress() {
      await followed?.progress()
      return undefined
    },
    past: (asked) => readPast(store, asked),
    grantLease: ({ ttlSeconds, id }) => store.grantLease(ttlSeconds, id),
    keepLeaseAlive: (id) => store.keepLeaseAlive(id),
    revokeLease: (id) => store.revokeLease(id).then(nothing),
    leases: () => store.leases(),
    leaseKeys: (id) => store.leaseKeys(id),
    compact: (revision) => store.compact(revision).then(nothing),
    size: () => store.size(),
  }

  channel.onMessage(({ id, call, takes }) => {
    const answer = (calls[call] as (takes: unknown) => Promise<StoreCalls[StoreCall]['gives']>)(takes)
    answer.then(
      (gives) => channel.post({ id, gives, ...state() }),
      (error: Error) => channel.post({ id, error: posted(error), ...state() }),
    )
  })
  return { [Symbol.dispose]: () => watches.dispose() }
}

const nothing = () => undefined

function posted(error: Error): PostedError {
  const { name, message } = error
  return { name, message, ...(error instanceof ValueTooLargeError ? defined({ limitBytes: error.limitBytes }) : {}) }
}

/** A watch that starts back there, until it has given enough. */
function readPast(store: Store, { from, to, limit }: StoreCalls['past']['takes']): Promise<Change[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Change[]>()
  const changes: Change[] = []
  const watch = store.watch({
    prefix: '',
    fromRevision: from,
    onEvents(events, revision) {
      if (revision <= to) changes.push({ revision, events })
      if (changes.length < limit && revision < to) return
      watch.cancel()
      resolve(changes)
    },
    onEnd: reject,
  })
  return promise
}
