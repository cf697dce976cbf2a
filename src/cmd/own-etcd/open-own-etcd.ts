/** `--store etcd`: the objects are in an etcd that this machine runs, alone or as a member of the cluster that its control planes are. */
import { join } from 'node:path'
import { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { etcdMemberIdentities } from '#apiserver/pki/identities.ts'
import { openKeyDirectory } from '#apiserver/pki/key-directory.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { GrpcTls } from '#base/grpc.ts'
import { type Logger, silentLogger } from '#base/log.ts'
import { thisMachine } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import {
  type EtcdMember,
  etcdClientFiles,
  etcdClientUrl,
  firstEtcdMember,
  readEtcdMember,
  writeEtcdMember,
} from '#cmd/own-etcd/etcd-member.ts'
import { etcdLog, keepEtcdRunning } from '#cmd/own-etcd/etcd-process.ts'
import { machineNodeName } from '#cmd/up/cluster-addresses.ts'
import { EtcdConnection } from '#store/etcd/etcd-connection.ts'
import { etcdMemberStatus, promoteEtcdLearner } from '#store/etcd/etcd-members.ts'

type Seams = { clock: Clock; random: Random; files: Files; logger: Logger }

/** All machines of a cluster may have been switched on just now: a leader is there when most of them are. */
const patienceMs = 5 * 60_000
const sayAfterMs = 10_000
const lookEveryMs = 100

export type OwnEtcd = { endpoints: string[]; tls: () => Promise<GrpcTls>; onClose: () => void }

/** Resolves once it answers and the cluster has a leader. */
export async function openOwnEtcd({ dataDir, listen }: { dataDir: string; listen: string }, seams: Seams): Promise<OwnEtcd> {
  const { files } = seams
  const member = (await readEtcdMember(dataDir, files)) ?? (await makeFirstMember(dataDir, listen, files))
  await layEtcdCertificates(dataDir, member, seams)
  const processSeams = { ...seams, logger: seams.logger.with({ component: 'etcd' }), processes: nodeProcesses }
  const kept = await keepEtcdRunning(dataDir, member, processSeams)
  const tls = () => etcdTlsOf(dataDir, files)
  try {
    await untilEtcdServes(dataDir, member, seams)
  } catch (error) {
    kept.stop()
    throw error
  }
  return { endpoints: [etcdClientUrl(member.address)], tls, onClose: () => kept.stop() }
}

/** Laid down for an etcd that is yet to be started, whoever starts it. */
export async function makeFirstMember(dataDir: string, listen: string, files: Files): Promise<EtcdMember> {
  const address = ['0.0.0.0', '::', ''].includes(listen) ? thisMachine().addresses()[0] : listen
  const member = firstEtcdMember(machineNodeName(), address ?? '127.0.0.1')
  await writeEtcdMember(dataDir, member, files)
  return member
}

/** They are renewed with the cluster's others while it runs. */
export async function layEtcdCertificates(
  dataDir: string,
  { name, address }: EtcdMember,
  { files, clock, random }: Omit<Seams, 'logger'>,
): Promise<void> {
  const directory = await openKeyDirectory(files, join(dataDir, 'pki'))
  using _keys = await ClusterKeys.open({ directory, clock, random, log: silentLogger }, etcdMemberIdentities(name, [address]))
}

/** A client of the cluster's etcd, by the certificate of this machine. */
export async function etcdTlsOf(dataDir: string, files: Files): Promise<GrpcTls> {
  const { etcdCafile, etcdCertfile, etcdKeyfile } = etcdClientFiles(dataDir)
  const [authority, certificate, key] = await Promise.all([etcdCafile, etcdCertfile, etcdKeyfile].map((path) => files.readText(path)))
  return { authority: authority ?? '', certificate: certificate ?? '', key: key ?? '' }
}

/** Answers, has a leader, and, where it has joined others, a vote. */
export async function untilEtcdServes(
  dataDir: string,
  { name, address, others }: EtcdMember,
  { clock, files, logger }: Omit<Seams, 'random'>,
): Promise<void> {
  const tls = () => etcdTlsOf(dataDir, files)
  const startedMs = clock.monotonic()
  let hasSaid = false
  for (let trouble = 'it does not answer'; ; ) {
    const own = new EtcdConnection({ clock, endpoints: [etcdClientUrl(address)], tls, patienceMs: 0 })
    try {
      const { id, isLearner, hasLeader } = await etcdMemberStatus(own)
      if (isLearner && hasLeader) {
        const cluster = new EtcdConnection({ clock, endpoints: [...others], tls })
        try {
          await promoteEtcdLearner(cluster, id, { clock, timeoutMs: patienceMs })
        } finally {
          await cluster.close()
        }
      }
      if (hasLeader) return
      trouble = 'it has no leader: most of its members must be there'
    } catch (error) {
      trouble = errorMessage(error)
    } finally {
      await own.close()
    }
    const waitedMs = clock.monotonic() - startedMs
    if (waitedMs > patienceMs) {
      const log = await files.readTextIfPresent(etcdLog(dataDir))
      const end = log === undefined ? '' : `; the end of ${etcdLog(dataDir)}:\n${log.split('\n').slice(-8).join('\n')}`
      throw new Error(`etcd on ${address} does not serve: ${trouble}${end}`)
    }
    if (waitedMs > sayAfterMs && !hasSaid) {
      hasSaid = true
      logger.warn('waiting for etcd', { member: name, error: trouble })
    }
    await clock.sleep(lookEveryMs)
  }
}
