import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { storeIdentities } from '#apiserver/pki/identities.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine } from '#base/machine.ts'
import { EtcdServer } from '#store/etcd-server/etcd-server.ts'
import type { Store } from '#store/store.ts'

export type ServeEtcdOptions = { store: Store; keys: ClusterKeys; address: string; logger: Logger }

/** Serves the store by etcd's protocol, to clients whose certificates come from the cluster's etcd authority. */
export async function serveEtcd({ store, keys, address, logger }: ServeEtcdOptions): Promise<{ close(): Promise<void> }> {
  const host = address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  await keys.add(storeIdentities([host === '0.0.0.0' || host === '::' ? '' : host, ...thisMachine().addresses()]))
  const { certificatePem: certificate, privateKeyPem: key } = keys.identity('etcd-server')
  const tls = { authority: keys.authority('etcd-ca').certificatePem, certificate, key }
  return EtcdServer.start({ store, address, tls, logger: logger.with({ component: 'store' }) })
}
