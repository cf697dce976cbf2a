import { type GrpcHandler, type GrpcPeer, type GrpcServer, type GrpcTls, startGrpcServer } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import { grpcErrorOf } from '#store/etcd-server/server-errors.ts'
import { rangeOf } from '#store/etcd-server/server-keys.ts'
import { deleteResponse, serverPut, serverRange, serverTxn } from '#store/etcd-server/server-kv.ts'
import { ServerWatchStream } from '#store/etcd-server/server-watch.ts'
import { snapshotOf } from '#store/snapshot/snapshot-stream.ts'
import { LeaseNotFoundError, type Store } from '#store/store.ts'
import { type EtcdMethod, etcdMethods, type ResponseHeader } from '#wire/etcd-messages.ts'

export type EtcdServerOptions = {
  store: Store
  /** `127.0.0.1:2379`; port 0 takes a free one. */
  address: string
  /** Clients must show a certificate of this authority. */
  tls: Required<Pick<GrpcTls, 'authority' | 'certificate' | 'key'>>
  logger: Logger
}

/** The version of etcd whose API this is. */
const apiVersion = '3.5.21'
/** One cluster of one member; any numbers do, as long as they stay. */
const clusterId = 0x747970656e657473n
const memberId = 0x6d656d6265723031n

/** etcd's v3 API over any store, so that etcdctl and other clients of etcd can look into it, and mend it. */
export class EtcdServer {
  readonly #store: Store
  readonly #server: GrpcServer
  readonly #logger: Logger

  static async start(options: EtcdServerOptions): Promise<EtcdServer> {
    const host = options.address.replace(/:\d+$/, '')
    const url = { value: `https://${options.address}` }
    const server = await startGrpcServer({
      address: options.address,
      tls: options.tls,
      handlers: handlersOf(options.store, () => url.value),
    })
    url.value = `https://${host}:${server.port}`
    return new EtcdServer(options, server)
  }

  private constructor({ store, logger }: EtcdServerOptions, server: GrpcServer) {
    this.#store = store
    this.#server = server
    this.#logger = logger
    logger.info('serving the store as etcd', { port: server.port, revision: this.#store.revision })
  }

  get port(): number {
    return this.#server.port
  }

  async close(): Promise<void> {
    await this.#server.close()
    this.#logger.info('stopped serving the store as etcd')
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Every method that is served, in etcd's order of services: KV, Watch, Lease, Cluster, Maintenance. */
function handlersOf(store: Store, clientUrl: () => string): Record<string, GrpcHandler> {
  const header = (revision = store.revision): ResponseHeader => ({ clusterId, memberId, revision, raftTerm: 1 })
  return Object.fromEntries([
    answering(etcdMethods.range, async (request) => {
      const { revision, ...range } = await serverRange(store, request)
      return { header: header(revision), ...range }
    }),
    answering(etcdMethods.put, async (request) => {
      const { revision, ...put } = await serverPut(store, request)
      return { header: header(revision), ...put }
    }),
    answering(etcdMethods.deleteRange, async ({ key, rangeEnd, prevKv }) => {
      const { results, revision } = await store.txn({ success: [{ delete: rangeOf(key, rangeEnd) }] })
      return { header: header(revision), ...deleteResponse(results[0], prevKv) }
    }),
    answering(etcdMethods.txn, async (request) => {
      const { revision, ...txn } = await serverTxn(store, request)
      return { header: header(revision), ...txn }
    }),
    answering(etcdMethods.compact, async ({ revision }) => {
      await store.compact(revision)
      return { header: header() }
    }),
    conversing(etcdMethods.watch, (peer) => void new ServerWatchStream(store, peer, header)),
    answering(etcdMethods.leaseGrant, async ({ ttl, id }) => {
      const lease = await store.grantLease(ttl, id)
      return { header: header(), id: lease.id, ttl: lease.grantedSeconds }
    }),
    answering(etcdMethods.leaseRevoke, async ({ id }) => {
      await store.revokeLease(id)
      return { header: header() }
    }),
    conversing(etcdMethods.leaseKeepAlive, (peer) => keepAlive(store, peer, header)),
    answering(etcdMethods.leaseTimeToLive, async ({ id, keys }) => {
      const lease = (await store.leases()).find((each) => each.id === id)
      if (!lease) return { header: header(), id, ttl: -1 }
      const attached = keys ? (await store.leaseKeys(id)).map((key) => Buffer.from(key)) : []
      return { header: header(), id, ttl: lease.ttlSeconds, grantedTtl: lease.grantedSeconds, keys: attached }
    }),
    answering(etcdMethods.leaseLeases, async () => ({ header: header(), leases: (await store.leases()).map(({ id }) => ({ id })) })),
    answering(etcdMethods.memberList, async () => ({
      header: header(),
      members: [{ id: memberId, name: 'typernetes', clientUrls: [clientUrl()] }],
    })),
    answering(etcdMethods.status, async () => {
      const { totalBytes, usedBytes } = await store.size()
      const raft = { raftTerm: 1, raftIndex: store.revision, raftAppliedIndex: store.revision }
      const errors = store.trouble ? [store.trouble.message] : []
      return { header: header(), version: apiVersion, dbSize: totalBytes, dbSizeInUse: usedBytes, leader: memberId, errors, ...raft }
    }),
    answering(etcdMethods.alarm, async () => ({ header: header() })),
    answering(etcdMethods.defragment, async () => {
      await store.defragment?.()
      return { header: header() }
    }),
    conversing(etcdMethods.snapshot, (peer) => void sendSnapshot(store, peer, header)),
  ])
}

function answering<Request, Response>(
  method: EtcdMethod<Request, Response>,
  answer: (request: Request) => Promise<Parameters<typeof method.encodeResponse>[0]>,
): [string, GrpcHandler] {
  const handler: GrpcHandler = {
    async answer(bytes) {
      try {
        return method.encodeResponse(await answer(method.decodeRequest(bytes)))
      } catch (error) {
        throw grpcErrorOf(error)
      }
    },
  }
  return [method.path, handler]
}

function conversing(method: { path: string }, converse: (peer: GrpcPeer) => void): [string, GrpcHandler] {
  return [method.path, { converse }]
}

function keepAlive(store: Store, peer: GrpcPeer, header: () => ResponseHeader): void {
  const { decodeRequest, encodeResponse } = etcdMethods.leaseKeepAlive
  // A lease that is gone has no time left; etcd says no more than that.
  const secondsLeft = (id: bigint) =>
    store.keepLeaseAlive(id).then(
      ({ ttlSeconds }) => ttlSeconds,
      (error: unknown) => {
        if (error instanceof LeaseNotFoundError) return 0
        throw error
      },
    )
  const renew = async (bytes: Uint8Array) => {
    const { id } = decodeRequest(bytes)
    await peer.send(encodeResponse({ header: header(), id, ttl: await secondsLeft(id) }))
  }
  peer.onMessage((bytes) => void renew(bytes).catch((error: unknown) => peer.fail(grpcErrorOf(error))))
  peer.onEnd(() => peer.end())
}

async function sendSnapshot(store: Store, peer: GrpcPeer, header: () => ResponseHeader): Promise<void> {
  try {
    const { sizeBytes, parts } = await snapshotOf(store)
    let remainingBytes = sizeBytes
    for (const blob of parts) {
      remainingBytes -= blob.byteLength
      await peer.send(etcdMethods.snapshot.encodeResponse({ header: header(), remainingBytes, blob, version: apiVersion }))
    }
    peer.end()
  } catch (error) {
    peer.fail(grpcErrorOf(error))
  }
}
