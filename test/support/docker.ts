/** A Docker for a test, and our runtime over it: everything lies in a directory of its own and is gone afterwards. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findCgroups } from '#base/cgroup-files.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles as files } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { nodeProcesses as processes } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import { podNetworking } from '#cmd/runtime/pod-networking.ts'
import { sandboxImageArchive, sandboxImageName } from '#kubelet/images/sandbox-image.ts'
import { bridgeNameOf, layBridgeNetwork, removeBridgeNetwork } from '#network/bridge-network.ts'
import { DockerRuntime } from '#runtime/docker/docker-runtime.ts'
import type { ContainerWorld } from '../contracts/container-runtime.ts'
import { freePodCidr, type TestRuntime, unmountBelow, whyNoRights } from './containerd.ts'
import { LastingConnection } from './lasting-connection.ts'
import { busyboxPath, testImageArchive } from './test-image.ts'

const lacking = ['dockerd', 'containerd', 'runc', 'ip'].filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)

/** Why tests of it cannot be run here; false when they can: the value of a test's `skip`. */
export function whyNoDocker(): string | false {
  if (process.platform !== 'linux') return 'real containers need Linux'
  if (process.getuid?.() !== 0) return 'Docker needs root'
  if (lacking.length > 0) return `not installed: ${lacking.join(', ')} (Debian's docker.io)`
  if (!existsSync(busyboxPath)) return 'not installed: busybox-static'
  return whyNoRights()
}

/** Docker gives privileged containers all rights there are, also where it has not got them itself: then they cannot be started. */
function hasAllRights(): boolean {
  if (!existsSync('/proc/self/status')) return false
  const effective = /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
  const newest = BigInt(readFileSync('/proc/sys/kernel/cap_last_cap', 'utf8').trim())
  return BigInt(`0x${effective}`) === (1n << (newest + 1n)) - 1n
}

export type TestDocker = TestRuntime & {
  readonly endpoint: string
  readonly runtime: DockerRuntime
  /** The daemon itself; its containers run on. */
  stopDaemon(): Promise<void>
  startDaemon(): Promise<void>
}

export async function startTestDocker(): Promise<TestDocker> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-docker-'))
  const networks = join(directory, 'cni')
  const bridge = bridgeNameOf(directory)
  const podCidr = freePodCidr()
  const network = { name: bridge, bridge, podCidrs: [podCidr], dataDirectory: join(directory, 'addresses'), plugins: 'own' as const }
  await layBridgeNetwork(network, networks, { files, processes })
  let daemon = await startDockerd(directory)
  const { endpoint } = daemon
  const open = () =>
    DockerRuntime.open(
      {
        ...{ endpoint, directory: join(directory, 'runtime'), sandboxImage: sandboxImageName },
        networking: podNetworking({ configDirectory: networks, binDirectory: '/nowhere' }, { files, processes, clock: systemClock }),
      },
      { files, clock: systemClock, random: systemRandom, logger: silentLogger, processes },
    )
  let runtime: DockerRuntime | undefined = await open()
  const connection = new LastingConnection(() => runtime)
  const archive = join(directory, 'images.tar')
  for (const bytes of [testImageArchive(), sandboxImageArchive(process.arch === 'arm64' ? 'arm64' : 'amd64')]) {
    writeFileSync(archive, bytes)
    await runtime.importImages(archive)
  }
  rmSync(archive)
  return {
    ...{ directory, bridge, podCidr, podCgroup: `kubepods-${bridge}`, endpoint },
    get runtime() {
      if (runtime === undefined) throw new Error('the runtime is not there')
      return runtime
    },
    client: async () => connection,
    async kill() {
      const gone = runtime
      runtime = undefined
      await gone?.[Symbol.asyncDispose]()
      connection.cut()
    },
    async start() {
      runtime = await open()
    },
    stopDaemon: () => daemon.stop(),
    async startDaemon() {
      daemon = await startDockerd(directory)
    },
    async [Symbol.asyncDispose]() {
      runtime ??= await open()
      const { items } = await connection.call('listPodSandbox', {})
      for (const { id } of items) await connection.call('removePodSandbox', { podSandboxId: id })
      await runtime[Symbol.asyncDispose]()
      await daemon.stop()
      unmountBelow(directory)
      await (await findCgroups(files))?.remove(`kubepods-${bridge}`)
      await removeBridgeNetwork(network, networks, { files, processes })
      rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}

/** What the contract of runtimes has to know of it. */
export const dockerWorld: ContainerWorld = {
  ...{ scheme: 'docker', start: startTestDocker, startErrorCode: 127, cannotBePrivileged: !hasAllRights() },
  health: {
    handlers: [{ name: '', features: { recursiveReadOnlyMounts: false, userNamespaces: false } }],
    features: { supplementalGroupsPolicy: false },
  },
}

/** Without a network of its own: it neither makes bridges nor rules. */
async function startDockerd(directory: string): Promise<{ endpoint: string; stop(): Promise<void> }> {
  const socket = join(directory, 'docker.sock')
  const places = [
    '--data-root',
    join(directory, 'data'),
    '--exec-root',
    join(directory, 'exec'),
    '--pidfile',
    join(directory, 'docker.pid'),
  ]
  const quiet = ['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false', '--live-restore']
  const log = join(directory, 'docker.log')
  const output = openSync(log, 'a')
  const daemon = spawn('dockerd', ['-H', `unix://${socket}`, ...places, ...quiet], { stdio: ['ignore', output, output] })
  const ended = new Promise<void>((resolve) => daemon.once('exit', () => resolve()))
  const deadlineMs = Date.now() + 180_000
  const isUp = () =>
    new Promise<boolean>((resolve) => {
      const request = get({ socketPath: socket, path: '/_ping', agent: false, timeout: 10_000 }, (response) => {
        response.resume()
        resolve(response.statusCode === 200)
      })
      request.on('timeout', () => request.destroy())
      request.on('error', () => resolve(false))
    })
  while (!(await isUp())) {
    if (Date.now() > deadlineMs || daemon.exitCode !== null)
      throw new Error(`dockerd did not start:\n${readFileSync(log, 'utf8').slice(-2000)}`)
    await systemClock.sleep(100)
  }
  return {
    endpoint: `unix://${socket}`,
    async stop() {
      if (daemon.exitCode === null) daemon.kill('SIGTERM')
      await ended
    },
  }
}
