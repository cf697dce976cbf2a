import type { KubernetesObject } from '#api/resource.ts'
import { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import type { ObjectCache } from '#apiserver/watch-cache/object-cache.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Store } from '#store/store.ts'

export type ObjectWritesOptions = { cache: ObjectCache; store: Store; clock: Clock }

/** An object in the bytes that are stored, and parsed; the parsed one is given away. */
export type EncodedObject = { namespace: string; name: string; value: Uint8Array; stored: Uint8Array; parsed: KubernetesObject }

/** `durable` rejects when the store refuses. */
type UnderWay = { make(): CachedObject | undefined; durable: Promise<unknown> }

/** Somebody wrote in between. */
export class LostRace extends Error {}

/**
 * A writer waits no longer than this for those before it. One of them may be waiting for us: an admission webhook that
 * writes the object it is asked about.
 */
const patienceMs = 200

/**
 * The newest states of the objects of one resource, and the writes that change them.
 *
 * A write is known before it is durable. Who writes next builds on it without waiting for the disk, so that many writers of
 * one object are as fast as writers of many; nobody is answered before his own write, and thereby all before it, is durable.
 * Who writes nothing, because it changes nothing or is refused, is answered when what he was validated by is: a client that is
 * told of a conflict and reads again must not find what it has had.
 */
export class ObjectWrites {
  readonly #options: ObjectWritesOptions
  /** What is on its way to the disk, newest only; deletions are undefined. */
  readonly #underWay = new Map<string, UnderWay>()
  /** The last who asked for a turn, by key. */
  readonly #turns = new Map<string, PromiseWithResolvers<void>>()

  constructor(options: ObjectWritesOptions) {
    this.#options = options
  }

  /** What the next write has to build on. */
  async newest(key: string): Promise<CachedObject | undefined> {
    const { cache } = this.#options
    if (!cache.isFresh) await cache.fresh()
    const underWay = this.#underWay.get(key)
    const newest = underWay ? underWay.make() : cache.get(key)
    if (newest !== undefined) await cache.prepare([newest])
    return newest
  }

  /** Runs `work` when those who came before for the same key have ended, or called what they were given. */
  async inTurn<T>(key: string, work: (pass: () => void) => Promise<T>): Promise<T> {
    const before = this.#turns.get(key)
    const turn = Promise.withResolvers<void>()
    this.#turns.set(key, turn)
    const pass = () => {
      turn.resolve()
      if (this.#turns.get(key) === turn) this.#turns.delete(key)
    }
    try {
      if (before) await this.#patiently(before.promise)
      const seen = this.#underWay.get(key)
      try {
        return await work(pass)
      } finally {
        pass()
        await seen?.durable
      }
    } finally {
      pass()
    }
  }

  /** Writes the object if it is still as `prev` says. Throws `LostRace`; `pass` is called when the next writer may look. */
  async put(
    key: string,
    { namespace, name, value, stored, parsed }: EncodedObject,
    prev: CachedObject | undefined,
    lease: bigint | undefined,
    pass: () => void,
  ): Promise<CachedObject> {
    const put = { key, value: stored, ...defined({ lease }) }
    const { cache } = this.#options
    const made = (at: number) => cache.shown(new CachedObject(key, namespace, name, at, value, parsed))
    const written = made(await this.#swap(key, prev, { put }, pass, made))
    await cache.prepare([written])
    return written
  }

  /** Deletes the object if it is still as `prev` says, and tells the revision of the deletion. Throws `LostRace`. */
  remove(prev: CachedObject, pass: () => void): Promise<number> {
    return this.#swap(prev.key, prev, { delete: { key: prev.key } }, pass, () => undefined)
  }

  async #swap(
    key: string,
    prev: CachedObject | undefined,
    operation: Parameters<Store['txn']>[0]['success'][number],
    pass: () => void,
    make: (revision: number) => CachedObject | undefined,
  ): Promise<number> {
    let underWay: UnderWay | undefined
    const durable = Promise.withResolvers<void>()
    // Most writes are awaited by their writer alone.
    durable.promise.catch(() => {})
    try {
      const { succeeded, revision } = await this.#options.store.txn(
        { compare: [{ key, target: 'modRevision', op: '=', value: prev?.revision ?? 0 }], success: [operation] },
        (result) => {
          if (result.succeeded) {
            let made: CachedObject | undefined
            underWay = { make: () => (made ??= make(result.revision)), durable: durable.promise }
            this.#underWay.set(key, underWay)
          }
          pass()
        },
      )
      durable.resolve()
      if (!succeeded) throw new LostRace()
      return revision
    } catch (error) {
      durable.reject(error)
      throw error
    } finally {
      if (underWay !== undefined && this.#underWay.get(key) === underWay) this.#underWay.delete(key)
    }
  }

  #patiently(before: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const timer: Timer = this.#options.clock.after(patienceMs, resolve)
      void before.then(() => {
        timer.cancel()
        resolve()
      })
    })
  }
}
