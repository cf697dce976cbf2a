import { append } from '#base/append.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { GrpcStream } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import { changesOf, watchEverything } from '#store/etcd/etcd-changes.ts'
import type { EtcdConnection } from '#store/etcd/etcd-connection.ts'
import type { Change } from '#store/mvcc/history.ts'
import { CompactedError } from '#store/store.ts'
import { etcdMethods, type PbWatchResponse } from '#wire/etcd-messages.ts'

export type FollowerOptions = {
  clock: Clock
  logger: Logger
  connection: EtcdConnection
  onChange(change: Change): void
  /** etcd has forgotten what came after the follower's position: there is a gap, and it starts anew. */
  onGap(compactedRevision: number): Promise<number>
  onTrouble(error: Error | undefined): void
}

const firstRetryMs = 100
const longestRetryMs = 5_000

/**
 * One watch of everything etcd holds. Seeing every revision, it always knows how far it has come, which a watch of fewer keys
 * does not; whoever watches here is served from it.
 *
 *     connecting --> following --(broken off)--> waiting --> connecting, from the position reached
 */
export class EtcdFollower {
  readonly #options: FollowerOptions
  #position = 0
  #stream: GrpcStream | undefined
  #retry: Timer | undefined
  #retryMs = firstRetryMs
  #waiting: { revision: number; resolve(): void }[] = []
  #isClosed = false

  constructor(options: FollowerOptions) {
    this.#options = options
  }

  /** Every change up to this revision has been passed on. */
  get position(): number {
    return this.#position
  }

  /** Passes on what happens after `revision`. */
  start(revision: number): void {
    this.#position = revision
    this.#connect()
  }

  /** Resolves when everything up to `revision` has been passed on. */
  reached(revision: number): Promise<void> {
    if (this.#position >= revision || this.#isClosed) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiting.push({ revision, resolve })
    })
  }

  close(): void {
    this.#isClosed = true
    this.#retry?.cancel()
    this.#stream?.cancel()
    for (const { resolve } of this.#waiting.splice(0)) resolve()
  }

  #connect(): void {
    const receiver = {
      onMessage: (bytes: Uint8Array) => this.#receive(etcdMethods.watch.decodeResponse(bytes)),
      onEnd: (error: Error | undefined) => this.#lose(error ?? new Error('etcd has ended the watch')),
    }
    this.#options.connection.stream(etcdMethods.watch.path, receiver).then(
      (stream) => {
        if (this.#isClosed) return stream.cancel()
        this.#stream = stream
        stream.send(watchEverything(this.#position + 1))
      },
      (error: Error) => this.#lose(error),
    )
  }

  #receive(response: PbWatchResponse): void {
    if (response.canceled) {
      this.#stream?.cancel()
      if (response.compactRevision > 0) this.#skipTo(response.compactRevision)
      else this.#lose(new Error(`etcd has cancelled the watch: ${response.cancelReason}`))
      return
    }
    if (response.created) {
      this.#retryMs = firstRetryMs
      this.#options.onTrouble(undefined)
    }
    for (const change of changesOf(response.events)) {
      if (change.revision <= this.#position) continue
      this.#position = change.revision
      this.#options.onChange(change)
    }
    this.#tellWaiting()
  }

  #skipTo(compactedRevision: number): void {
    this.#options.logger.warn('etcd compacted revisions that were not read yet', { position: this.#position, compactedRevision })
    this.#options.onGap(compactedRevision).then(
      (revision) => {
        this.#position = revision
        this.#tellWaiting()
        this.#connect()
      },
      (error: Error) => this.#lose(error),
    )
  }

  #lose(error: Error): void {
    if (this.#isClosed) return
    this.#options.onTrouble(error)
    this.#options.logger.warn('etcd watch failed, retrying', { error: error.message, position: this.#position, retryMs: this.#retryMs })
    this.#options.connection.moveOn()
    this.#retry = this.#options.clock.after(this.#retryMs, () => this.#connect())
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs)
  }

  #tellWaiting(): void {
    this.#waiting = this.#waiting.filter(({ revision, resolve }) => {
      if (revision > this.#position) return true
      resolve()
      return false
    })
  }
}

/** Reads up to `limit` changes of the past, from one revision to another. */
export function readPast(connection: EtcdConnection, from: number, to: number, limit: number): Promise<Change[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Change[]>()
  const changes: Change[] = []
  const opening = connection.stream(etcdMethods.watch.path, {
    onMessage(bytes) {
      const { canceled, compactRevision, cancelReason, events } = etcdMethods.watch.decodeResponse(bytes)
      if (canceled) reject(compactRevision > 0 ? new CompactedError(from, compactRevision) : new Error(cancelReason))
      append(
        changes,
        changesOf(events).filter(({ revision }) => revision <= to),
      )
      if (canceled || changes.length >= limit || (changes.at(-1)?.revision ?? 0) >= to) {
        opening.then((stream) => stream.cancel())
        resolve(changes.slice(0, limit))
      }
    },
    onEnd: (error) => reject(error ?? new Error('etcd has ended the watch')),
  })
  opening.then((stream) => stream.send(watchEverything(from)), reject)
  return promise
}
