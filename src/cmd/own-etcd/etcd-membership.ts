/** How a control plane's etcd becomes a member of the cluster's, is found by those who come later, and leaves. */
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { systemClock as clock } from '#base/clock.ts'
import { nodeFiles as files } from '#base/files.ts'
import { systemRandom as random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { sharedOptionsMap } from '#cmd/control-plane/shared-options.ts'
import { etcdClientUrl, etcdPeerUrl, readEtcdMember, writeEtcdMember } from '#cmd/own-etcd/etcd-member.ts'
import { etcdTlsOf, layEtcdCertificates } from '#cmd/own-etcd/open-own-etcd.ts'
import { machineNodeName } from '#cmd/up/cluster-addresses.ts'
import { EtcdConnection } from '#store/etcd/etcd-connection.ts'
import { addEtcdLearner, etcdMemberStatus, etcdMembers, removeEtcdMember } from '#store/etcd/etcd-members.ts'

/** Beside the options that control planes share. */
export const etcdEndpointsKey = 'etcd-endpoints'

/** Tells those who join later where the members are. */
export async function publishEtcdMembers(client: Client, dataDir: string): Promise<void> {
  const member = await readEtcdMember(dataDir, files)
  if (member === undefined) return
  const members = await withEtcd(dataDir, [etcdClientUrl(member.address)], etcdMembers)
  const endpoints = members.flatMap(({ clientUrls }) => clientUrls).toSorted()
  const map = { metadata: { ...sharedOptionsMap }, data: { [etcdEndpointsKey]: endpoints.join(',') } }
  await client.apply(ConfigMap, map, { fieldManager: 'typernetes-etcd', force: true })
}

/** Has the cluster expect this machine's etcd, and writes down how it is to be started. The authority of etcd is in DATA-DIR/pki already. */
export async function joinEtcd(dataDir: string, address: string, endpoints: readonly string[]): Promise<void> {
  if ((await readEtcdMember(dataDir, files)) !== undefined) return
  const name = machineNodeName()
  const member = { name, address, initialCluster: '', initialState: 'existing' as const, others: endpoints }
  await layEtcdCertificates(dataDir, member, { files, clock, random })
  const members = await withEtcd(dataDir, endpoints, async (connection) => {
    try {
      return await addEtcdLearner(connection, etcdPeerUrl(address), clock)
    } catch (error) {
      throw await whyNoMember(dataDir, connection, error)
    }
  })
  // One that has not started yet has no name.
  const initialCluster = members.flatMap(({ name: known, peerUrls }) => peerUrls.map((url) => `${known || name}=${url}`)).join(',')
  const others = members.flatMap(({ clientUrls }) => clientUrls)
  await writeEtcdMember(dataDir, { ...member, initialCluster, others }, files)
}

/** The rest of the cluster goes on without this machine's member; false where it is the last one, or there is none. */
export async function leaveEtcd(dataDir: string): Promise<boolean> {
  const own = await readEtcdMember(dataDir, files)
  if (own === undefined) return false
  const members = await withEtcd(dataDir, [etcdClientUrl(own.address), ...own.others], etcdMembers)
  const isOwn = ({ peerUrls }: { peerUrls: readonly string[] }) => peerUrls.includes(etcdPeerUrl(own.address))
  const member = members.find(isOwn)
  if (member === undefined || members.length === 1) return false
  // By way of the others: a member that is removed stops, and may not come to answer.
  const others = members.filter((one) => !isOwn(one)).flatMap(({ clientUrls }) => clientUrls)
  await withEtcd(dataDir, others, async (connection) => {
    try {
      await removeEtcdMember(connection, member.id, clock)
    } catch (error) {
      if ((await etcdMembers(connection)).some(isOwn)) throw error
    }
  })
  return true
}

/** etcd takes nobody in while one of its members is away: who that is, and what can be done. */
async function whyNoMember(dataDir: string, connection: EtcdConnection, error: unknown): Promise<unknown> {
  if (!/unhealthy cluster/.test(String(error))) return error
  const silent: string[] = []
  for (const { id, name, clientUrls } of await etcdMembers(connection)) {
    if (clientUrls.length === 0) continue
    const own = new EtcdConnection({ clock, endpoints: [...clientUrls], tls: () => etcdTlsOf(dataDir, files), patienceMs: 0 })
    await etcdMemberStatus(own)
      .catch(() => silent.push(`${name} (${clientUrls.join(', ')}, ID ${id.toString(16)})`))
      .finally(() => own.close())
  }
  if (silent.length === 0) return error
  const advice = 'bring it back, or let etcd forget it (etcdctl member remove ID), then join again'
  return new Error(`etcd is not healthy, and takes no new member: ${silent.join('; ')} does not answer; ${advice}`, { cause: error })
}

async function withEtcd<T>(dataDir: string, endpoints: readonly string[], use: (connection: EtcdConnection) => Promise<T>): Promise<T> {
  const connection = new EtcdConnection({ clock, endpoints: [...endpoints], tls: () => etcdTlsOf(dataDir, files) })
  try {
    return await use(connection)
  } finally {
    await connection.close()
  }
}
