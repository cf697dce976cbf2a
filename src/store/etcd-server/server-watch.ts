import { smallest } from '#base/append.ts'
import { defined } from '#base/defined.ts'
import { GrpcError, type GrpcPeer, grpcCodes } from '#base/grpc.ts'
import { grpcErrorOf } from '#store/etcd-server/server-errors.ts'
import { pbKeyValueOf, rangeOf } from '#store/etcd-server/server-keys.ts'
import { CompactedError, type Store, type StoreEvent, type Watch } from '#store/store.ts'
import { etcdMethods, eventTypes, type PbEvent, type PbWatchCreateRequest, type ResponseHeader, watchFilters } from '#wire/etcd-messages.ts'

/** What a client may leave unread before its stream is broken off. */
const mostUnreadBytes = 64 * 1024 * 1024
/** Answers that are for the stream as a whole. */
const noWatch = -1

type WatchResponseDraft = Parameters<typeof etcdMethods.watch.encodeResponse>[0]

/** One stream of a client, with any number of watches on it. */
export class ServerWatchStream {
  readonly #store: Store
  readonly #peer: GrpcPeer
  readonly #header: (revision: number) => ResponseHeader
  readonly #watches = new Map<number, Watch>()
  #lastId = -1
  #unreadBytes = 0

  constructor(store: Store, peer: GrpcPeer, header: (revision: number) => ResponseHeader) {
    this.#store = store
    this.#peer = peer
    this.#header = header
    peer.onMessage((bytes) => this.#receive(bytes))
    peer.onEnd(() => peer.end())
    peer.onClosed(() => {
      for (const watch of this.#watches.values()) watch.cancel()
      this.#watches.clear()
    })
  }

  #receive(bytes: Uint8Array): void {
    try {
      const { createRequest, cancelRequest, progressRequest } = etcdMethods.watch.decodeRequest(bytes)
      if (createRequest) this.#create(createRequest)
      if (cancelRequest) this.#cancel(cancelRequest.watchId)
      if (progressRequest) void this.#tellProgress()
    } catch (error) {
      this.#peer.fail(grpcErrorOf(error))
    }
  }

  #create(request: PbWatchCreateRequest): void {
    const watchId = this.#freeId(request.watchId)
    const { revision } = this.#store
    this.#send(revision, { watchId, created: true })
    // etcd waits for revisions to come; the store does not know any that are not there.
    const fromRevision = Math.min(request.startRevision, revision + 1)
    const first = request.startRevision
    try {
      const watch = this.#store.watch({
        ...rangeOf(request.key, request.rangeEnd),
        ...defined({ fromRevision: fromRevision > 0 ? fromRevision : undefined }),
        onEvents: (events, at) => {
          if (at < first) return
          const wanted = events.filter(({ type }) => !request.filters.includes(type === 'put' ? watchFilters.noPut : watchFilters.noDelete))
          if (wanted.length > 0) this.#send(at, { watchId, events: wanted.map((event) => pbEventOf(event, request.prevKv)) })
        },
        ...defined({ onProgress: request.progressNotify ? (at: number) => this.#send(at, { watchId }) : undefined }),
        onEnd: (error) => this.#endWatch(watchId, error),
      })
      this.#watches.set(watchId, watch)
    } catch (error) {
      this.#endWatch(watchId, error)
    }
  }

  #cancel(watchId: number): void {
    this.#watches.get(watchId)?.cancel()
    if (this.#watches.delete(watchId)) this.#send(this.#store.revision, { watchId, canceled: true })
  }

  async #tellProgress(): Promise<void> {
    const reached = await Promise.all([...this.#watches.values()].map((watch) => watch.progress()))
    this.#send(smallest(this.#store.revision, reached), { watchId: noWatch })
  }

  #endWatch(watchId: number, error: unknown): void {
    this.#watches.delete(watchId)
    const compactRevision = error instanceof CompactedError ? error.compactedRevision : 0
    this.#send(this.#store.revision, { watchId, canceled: true, compactRevision, cancelReason: grpcErrorOf(error).message })
  }

  #freeId(asked: number): number {
    if (asked > 0) {
      if (this.#watches.has(asked)) throw new GrpcError(grpcCodes.invalidArgument, 'etcdserver: duplicate watch ID provided on stream')
      return asked
    }
    do this.#lastId++
    while (this.#watches.has(this.#lastId))
    return this.#lastId
  }

  #send(revision: number, response: WatchResponseDraft): void {
    const bytes = etcdMethods.watch.encodeResponse({ header: this.#header(revision), ...response })
    this.#unreadBytes += bytes.byteLength
    if (this.#unreadBytes > mostUnreadBytes) {
      this.#peer.fail(new GrpcError(grpcCodes.resourceExhausted, 'typernetes: the client does not read its events'))
      return
    }
    void this.#peer.send(bytes).then(() => {
      this.#unreadBytes -= bytes.byteLength
    })
  }
}

function pbEventOf({ type, kv, prev }: StoreEvent, wantsPrev: boolean): PbEvent {
  return { type: eventTypes[type], kv: pbKeyValueOf(kv), prevKv: wantsPrev && prev ? pbKeyValueOf(prev) : undefined }
}
