/** The member of an etcd cluster that this machine runs: where its files are, and by which flags it is started. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'

export const etcdClientPort = 2379
const peerPort = 2380
export const etcdMetricsPort = 2381

/** Decided when the member is made, and kept beside its data. */
export type EtcdMember = {
  name: string
  /** By which other machines reach it. */
  address: string
  /** `NAME=PEER-URL,…`: of the first member itself alone, of a later one all there were. */
  initialCluster: string
  initialState: 'new' | 'existing'
  /** Client URLs of the others that were there, by which it is given its vote. */
  others: readonly string[]
}

export const etcdDirectory = (dataDir: string): string => join(dataDir, 'etcd')
const memberPath = (dataDir: string): string => join(etcdDirectory(dataDir), 'member.json')

const inBrackets = (address: string): string => (address.includes(':') ? `[${address}]` : address)
export const etcdPeerUrl = (address: string): string => `https://${inBrackets(address)}:${peerPort}`
export const etcdClientUrl = (address: string): string => `https://${inBrackets(address)}:${etcdClientPort}`

export const firstEtcdMember = (name: string, address: string): EtcdMember => ({
  ...{ name, address, initialCluster: `${name}=${etcdPeerUrl(address)}`, initialState: 'new', others: [] },
})

/** Undefined where this directory has no member. */
export async function readEtcdMember(dataDir: string, files: Files): Promise<EtcdMember | undefined> {
  const text = await files.readTextIfPresent(memberPath(dataDir))
  return text === undefined ? undefined : (JSON.parse(text) as EtcdMember)
}

export async function writeEtcdMember(dataDir: string, member: EtcdMember, files: Files): Promise<void> {
  // etcd refuses to keep data where others could read it.
  await files.makeDirectory(etcdDirectory(dataDir), { mode: 0o700 })
  await files.write(memberPath(dataDir), JSON.stringify(member))
}

/** Upstream's files for its clients: one file has certificate and key, in PEM. */
export const etcdClientFiles = (dataDir: string): { etcdCafile: string; etcdCertfile: string; etcdKeyfile: string } => ({
  etcdCafile: join(dataDir, 'pki', 'etcd-ca.crt'),
  etcdCertfile: join(dataDir, 'pki', 'etcd-client.pem'),
  etcdKeyfile: join(dataDir, 'pki', 'etcd-client.pem'),
})

export function etcdFlags(dataDir: string, { name, address, initialCluster, initialState }: EtcdMember): string[] {
  const pki = (file: string) => join(dataDir, 'pki', file)
  const clientUrls = [...new Set([etcdClientUrl('127.0.0.1'), etcdClientUrl(address)])].join(',')
  const flags = {
    name,
    'data-dir': join(etcdDirectory(dataDir), 'data'),
    'listen-client-urls': clientUrls,
    'advertise-client-urls': etcdClientUrl(address),
    'listen-peer-urls': etcdPeerUrl(address),
    'initial-advertise-peer-urls': etcdPeerUrl(address),
    'initial-cluster': initialCluster,
    'initial-cluster-state': initialState,
    'cert-file': pki('etcd-server.pem'),
    'key-file': pki('etcd-server.pem'),
    'client-cert-auth': 'true',
    'trusted-ca-file': pki('etcd-ca.crt'),
    'peer-cert-file': pki('etcd-peer.pem'),
    'peer-key-file': pki('etcd-peer.pem'),
    'peer-client-cert-auth': 'true',
    'peer-trusted-ca-file': pki('etcd-ca.crt'),
    'listen-metrics-urls': `http://127.0.0.1:${etcdMetricsPort}`,
    logger: 'zap',
  }
  return Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)
}
