import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { type CuttableProxy, startProxy } from './cuttable-proxy.ts'

/** Why tests with a real etcd cannot run here, or undefined where they can. */
export const etcdMissing: string | undefined =
  spawnSync('etcd', ['--version']).status === 0 ? undefined : 'etcd is not installed (Debian: etcd-server)'
export const etcdctlMissing: string | undefined =
  spawnSync('etcdctl', ['version']).status === 0 ? undefined : 'etcdctl is not installed (Debian: etcd-client)'

export type EtcdServer = AsyncDisposable & {
  endpoint: string
  /** Kills the server and, with the same data and ports, starts it again. */
  restart(): Promise<void>
  kill(): Promise<void>
  start(): Promise<void>
}

/** Starts Debian's etcd on loopback, with a data directory of its own. */
export async function startEtcd(flags: string[] = []): Promise<EtcdServer> {
  const directory = mkdtempSync(join(tmpdir(), 'typernetes-etcd-'))
  const [client, peer] = [await freePort(), await freePort()]
  const scheme = flags.includes('--client-cert-auth') ? 'https' : 'http'
  const clientUrl = `${scheme}://127.0.0.1:${client}`
  const peerUrl = `http://127.0.0.1:${peer}`
  let child: ReturnType<typeof spawn> | undefined
  const start = async () => {
    const args = ['--data-dir', directory, '--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl]
    const peers = ['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl, '--initial-cluster', `default=${peerUrl}`]
    const quick = ['--heartbeat-interval', '50', '--election-timeout', '500', '--logger', 'zap', '--log-outputs', 'stderr']
    child = spawn('etcd', [...args, ...peers, ...quick, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
    await ready(child)
  }
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child?.once('exit', resolve))
    child.kill('SIGKILL')
    await exited
  }
  await start()
  return {
    endpoint: `127.0.0.1:${client}`,
    start,
    kill,
    async restart() {
      await kill()
      await start()
    },
    async [Symbol.asyncDispose]() {
      await kill()
      rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}

export type EtcdCluster = AsyncDisposable & {
  endpoints: string[]
  kill(member: number): Promise<void>
  /** Again, with the data it had. */
  start(member: number): Promise<void>
  /** It is there, and does nothing: SIGSTOP, SIGCONT. */
  signal(member: number, signal: 'SIGSTOP' | 'SIGCONT'): void
  /** The way of the others to each member: what it is asked, and what it sends them on streams that they open. */
  peerLinks: readonly CuttableProxy[]
}

/** An etcd cluster on loopback, each member a process with data of its own. `hasPeerLinks`: members reach each other by links that can fail. */
export async function startEtcdCluster(size: number, { hasPeerLinks = false } = {}): Promise<EtcdCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'typernetes-etcd-'))
  const members = await Promise.all(
    Array.from({ length: size }, async (_, index) => {
      const listen = `127.0.0.1:${await freePort()}`
      const link = hasPeerLinks ? await startProxy(listen) : undefined
      const advertised = `http://${link?.endpoint ?? listen}`
      return { name: `m${index}`, client: `http://127.0.0.1:${await freePort()}`, peer: `http://${listen}`, advertised, link }
    }),
  )
  const initial = members.map(({ name, advertised }) => `${name}=${advertised}`).join(',')
  const peerLinks = members.flatMap(({ link }) => (link === undefined ? [] : [link]))
  const running = new Map<number, { child: ReturnType<typeof spawn>; exited: Promise<unknown> }>()
  const start = async (member: number) => {
    const { name, client, peer, advertised } = members[member] ?? { name: '', client: '', peer: '', advertised: '' }
    const child = spawn(
      'etcd',
      [
        ...['--name', name, '--data-dir', join(directory, name), '--initial-cluster', initial, '--initial-cluster-state', 'new'],
        ...['--listen-client-urls', client, '--advertise-client-urls', client],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', advertised, '--logger', 'zap', '--log-outputs', 'stderr'],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    running.set(member, { child, exited: new Promise((resolve) => child.once('exit', resolve)) })
    await ready(child)
  }
  const kill = async (member: number) => {
    running.get(member)?.child.kill('SIGKILL')
    await running.get(member)?.exited
  }
  const killAll = async () => {
    await Promise.all([...running.keys()].map(kill))
    await Promise.all(peerLinks.map((link) => link[Symbol.asyncDispose]()))
  }
  try {
    await Promise.all(members.map((_, index) => start(index)))
  } catch (error) {
    await killAll()
    throw error
  }
  return {
    endpoints: members.map(({ client }) => client),
    kill,
    start,
    signal: (member, signal) => void running.get(member)?.child.kill(signal),
    peerLinks,
    async [Symbol.asyncDispose]() {
      await killAll()
      rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}

/** etcd says in its log when it serves clients. */
function ready(child: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    child.stderr?.on('data', (chunk) => {
      log += chunk
      if (/serving client traffic|serving (insecure )?client requests/.test(log)) resolve()
      if (log.length > 1_000_000) log = ''
    })
    child.once('exit', (code) => reject(new Error(`etcd ended with ${code}: ${log.slice(-2000)}`)))
    child.once('error', reject)
  })
}
