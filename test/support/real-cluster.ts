/** A cluster with a real node on a containerd of its own, gone with everything that ran in it when the test ends. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashOf } from '#network/bridge-network.ts'
import { unmountBelow } from './containerd.ts'
import { freePort } from './free-port.ts'
import { type Kubectl, kubectl } from './kubectl.ts'
import { type RunningCluster, startCluster } from './running-cluster.ts'
import { testImageArchive } from './test-image.ts'

const repository = join(import.meta.dirname, '..', '..')

export type RealCluster = AsyncDisposable & {
  readonly directory: string
  readonly dataDir: string
  readonly socket: string
  /** The process that runs now. */
  readonly process: RunningCluster
  kubectlAt(path: string): Kubectl
  kill(): Promise<void>
  start(...moreFlags: readonly string[]): Promise<void>
  /** One of the program's commands on this cluster. */
  run(...args: readonly string[]): { status: number | null; stdout: string; stderr: string }
}

/** Of two networks of the same range on one machine only one works. */
const ownPodCidr = `10.${100 + (process.pid % 90)}.0.0/16`

/** Its directory has a space in its name unless `prefix` has none, so that nobody forgets that there may be one. */
export async function startRealCluster({
  podCidr = ownPodCidr,
  flags = [] as readonly string[],
  prefix = 'tn real ',
} = {}): Promise<RealCluster> {
  const directory = mkdtempSync(join(tmpdir(), prefix))
  const dataDir = join(directory, 'data')
  const socket = join(dataDir, 'containerd', 'containerd.sock')
  const port = await freePort()
  let running: RunningCluster | undefined
  const run = (...args: readonly string[]) => {
    const command = [join(repository, 'src/cmd/main.ts'), ...args, '--data-dir', dataDir]
    return spawnSync(process.execPath, command, { encoding: 'utf8', timeout: 120_000 })
  }
  const start = async (...more: readonly string[]) => {
    running = await startCluster(['--runtime', 'cri', '--cluster-cidr', podCidr, ...flags, ...more], directory, port)
  }
  // For tests that are ended from outside, by those who have lost patience. The cluster's process is only gone for good once this one is,
  // which therefore cannot wait for it.
  const endLater = () => {
    const script = 'exec >/dev/null 2>&1; "$0" "$1" down --pods --data-dir "$2/data"; rm -rf --one-file-system "$2"'
    const args = ['-c', script, process.execPath, join(repository, 'src/cmd/main.ts'), directory]
    spawn('sh', args, { detached: true, stdio: 'ignore' }).unref()
  }
  const end = () => process.exit(143)
  process.once('exit', endLater)
  // Not once: a second signal would end the process before it gets there.
  process.on('SIGTERM', end)
  const dispose = async () => {
    await running?.stop('SIGKILL')
    const { status, stderr } = run('down', '--pods')
    unmountBelow(directory)
    rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
    process.off('exit', endLater)
    process.off('SIGTERM', end)
    if (status !== 0) throw new Error(`the pods could not be taken down: ${stderr}`)
  }
  try {
    await start()
    const archive = join(directory, 'test-image.tar')
    writeFileSync(archive, testImageArchive())
    const { status, stderr } = run('images', 'load', archive)
    if (status !== 0) throw new Error(stderr)
    rmSync(archive)
  } catch (error) {
    await dispose()
    throw error
  }
  return {
    directory,
    dataDir,
    socket,
    get process() {
      return running as RunningCluster
    },
    kubectlAt: (path) => kubectl(path, '', join(dataDir, 'admin.kubeconfig')),
    async kill() {
      await running?.stop('SIGKILL')
    },
    start,
    run,
    [Symbol.asyncDispose]: dispose,
  }
}

/** What of a cluster could be left over on the machine: links, namespaces, rules, routes. */
export const leftOf = (dataDir: string) => {
  const lines = (command: string) => spawnSync('sh', ['-c', command], { encoding: 'utf8' }).stdout.split('\n').sort()
  return ['ip -o link', 'ip netns list', 'ip route', 'iptables-save', 'nft list ruleset']
    .flatMap(lines)
    .filter((line) => line.includes(hashOf(dataDir)))
}
/** Numbers of processes that have the directory in their command line. */
export const processesOf = (directory: string) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(directory)
      } catch {
        return false
      }
    })
