import type { EtcdConnection } from '#store/etcd/etcd-connection.ts'
import { LeaseNotFoundError } from '#store/store.ts'
import { etcdMethods } from '#wire/etcd-messages.ts'

/** etcd renews leases over a stream; one message there and one back is all that is needed here. */
export async function keepAliveOnce(connection: EtcdConnection, id: bigint): Promise<{ ttl: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ ttl: number }>()
  const stream = await connection.stream(etcdMethods.leaseKeepAlive.path, {
    onMessage(bytes) {
      const { ttl } = etcdMethods.leaseKeepAlive.decodeResponse(bytes)
      if (ttl > 0) resolve({ ttl })
      else reject(new LeaseNotFoundError(`lease ${id} does not exist`))
    },
    onEnd: (error) => reject(error ?? new Error('etcd has ended the stream')),
  })
  stream.send(etcdMethods.leaseKeepAlive.encodeRequest({ id }))
  try {
    return await promise
  } finally {
    stream.cancel()
  }
}
