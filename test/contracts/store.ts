/** etcd's documented guarantees as tests, for every backend of the store. The ids are those of src/store/SPEC.md. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { VirtualClock } from '#base/virtual-clock.ts'
import type { KeyValue, Operation, Store, StoreEvent, TransactionResult, WatchRequest } from '#store/store.ts'
import { describeStoreRanges } from './store-ranges.ts'
import { describeStoreTransactions } from './store-transactions.ts'
import { describeStoreWatches } from './store-watches.ts'

/** A fresh, empty store, and the clock its timers follow. Time outside (another server's) may pass on its own. */
export type OpenStore = { store: Store; clock: Pick<VirtualClock, 'advance'> } & AsyncDisposable

export type StoreBackend = { name: string; open(): Promise<OpenStore>; skip?: string | undefined }

export function describeStore(backend: StoreBackend): void {
  describe(`store: ${backend.name}`, { skip: backend.skip ?? false }, () => {
    describeStoreTransactions(backend)
    describeStoreRanges(backend)
    describeStoreWatches(backend)
    test('[ST14] a closed store ends its watches and refuses everything', async () => {
      await using opened = await backend.open()
      const { store } = opened
      const ended = Promise.withResolvers<Error>()
      store.watch({ prefix: '/', onEvents() {}, onEnd: ended.resolve })
      await store.close()
      assert.match((await ended.promise).message, /closed/)
      await assert.rejects(put(store, '/a', '1'), { name: 'StoreUnavailableError' })
      await assert.rejects(store.range({ key: '/a' }), { name: 'StoreUnavailableError' })
      assert.throws(() => store.watch({ prefix: '/', onEvents() {} }), { name: 'StoreUnavailableError' })
      await store.close()
    })
  })
}

export function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

export function putting(key: string, value: string, lease?: bigint): Operation {
  return { put: { key, value: Buffer.from(value), ...(lease === undefined ? {} : { lease }) } }
}

export function put(store: Store, key: string, value: string, lease?: bigint): Promise<TransactionResult> {
  return store.txn({ success: [putting(key, value, lease)] })
}

export function remove(store: Store, key: string): Promise<TransactionResult> {
  return store.txn({ success: [{ delete: { key } }] })
}

export async function get(store: Store, key: string, revision?: number): Promise<KeyValue | undefined> {
  return (await store.range({ key, ...(revision === undefined ? {} : { revision }) })).kvs[0]
}

export async function stored(store: Store, key: string, revision?: number): Promise<string | undefined> {
  const kv = await get(store, key, revision)
  return kv && text(kv.value)
}

/** `key=value` or `key` with a minus for each key, and the revision: short enough to compare by eye. */
export function shown(events: StoreEvent[]): string[] {
  return events.map(({ type, kv }) => (type === 'put' ? `${kv.modRevision} ${kv.key}=${text(kv.value)}` : `${kv.modRevision} -${kv.key}`))
}

/** A watch that keeps what it was given. */
export function watched(store: Store, request: Omit<WatchRequest, 'onEvents'>) {
  const events: StoreEvent[] = []
  const batches: { revision: number; events: StoreEvent[] }[] = []
  const waiting = new Set<() => void>()
  const watch = store.watch({
    ...request,
    onEvents(batch, revision) {
      events.push(...batch)
      batches.push({ revision, events: batch })
      for (const check of waiting) check()
    },
  } as WatchRequest)
  const until = (condition: () => boolean) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (!condition()) return
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
      check()
    })
  return { ...watch, events, batches, until }
}

/** The error a watch meets, whether thrown or told at its end. */
export function watchError(store: Store, request: Omit<WatchRequest, 'onEvents' | 'onEnd'>): Promise<Error> {
  return new Promise((resolve, reject) => {
    try {
      store.watch({ ...request, onEvents: () => reject(new Error('the watch delivered')), onEnd: resolve } as WatchRequest)
    } catch (error) {
      resolve(error as Error)
    }
  })
}
