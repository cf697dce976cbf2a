import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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
      rmSync(directory, { recursive: true })
    },
  }
}

/** An etcd cluster on loopback, each member a process with data of its own. */
export async function startEtcdCluster(
  size: number,
): Promise<AsyncDisposable & { endpoints: string[]; kill(member: number): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'typernetes-etcd-'))
  const members = await Promise.all(
    Array.from({ length: size }, async (_, index) => {
      return { name: `m${index}`, client: `http://127.0.0.1:${await freePort()}`, peer: `http://127.0.0.1:${await freePort()}` }
    }),
  )
  const initial = members.map(({ name, peer }) => `${name}=${peer}`).join(',')
  const children = members.map(({ name, client, peer }) =>
    spawn(
      'etcd',
      [
        ...['--name', name, '--data-dir', join(directory, name), '--initial-cluster', initial, '--initial-cluster-state', 'new'],
        ...['--listen-client-urls', client, '--advertise-client-urls', client],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--logger', 'zap', '--log-outputs', 'stderr'],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    ),
  )
  const exits = children.map((child) => new Promise((resolve) => child.once('exit', resolve)))
  const kill = async (member: number) => {
    children[member]?.kill('SIGKILL')
    await exits[member]
  }
  try {
    await Promise.all(children.map(ready))
  } catch (error) {
    for (const child of children) child.kill('SIGKILL')
    throw error
  }
  return {
    endpoints: members.map(({ client }) => client),
    kill,
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(exits)
      rmSync(directory, { recursive: true, force: true })
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

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
