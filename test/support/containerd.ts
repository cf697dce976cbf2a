/** A private containerd for a test: everything of it lies in a directory of its own and is gone afterwards. */
import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findCgroups } from '#base/cgroup-files.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles as files } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses as processes } from '#base/processes.ts'
import { ensureSandboxImage, importImages } from '#kubelet/images/import-image.ts'
import type { Architecture } from '#kubelet/images/pause-program.ts'
import { sandboxImageName } from '#kubelet/images/sandbox-image.ts'
import { CriClient, type CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { privateContainerdSocket, removeAllPods, startContainerd, stopContainerd } from '#kubelet/runtimes/cri/private-containerd.ts'
import { bridgeNameOf, layBridgeNetwork, removeBridgeNetwork } from '#network/bridge-network.ts'
import { busyboxPath, testImageArchive } from './test-image.ts'

/** A runtime with the test images, and a network for its pods. */
export type TestRuntime = AsyncDisposable & {
  readonly directory: string
  /** The interface of its pods' network. */
  readonly bridge: string
  readonly podCidr: string
  /** The group for its pods' processes; removed in the end. */
  readonly podCgroup: string
  client(): Promise<CriConnection>
  /** As by `kill -9`: containers run on. */
  kill(): Promise<void>
  start(): Promise<void>
}

export type TestContainerd = Omit<TestRuntime, 'client'> & {
  readonly socket: string
  client(): Promise<CriClient>
}

const programs = ['containerd', 'runc', 'ip', 'iptables']

/** Why tests with real containers cannot be run here; false when they can: the value of a test's `skip`. */
export function whyNoContainers(): string | false {
  if (process.platform !== 'linux') return 'real containers need Linux'
  if (process.getuid?.() !== 0) return 'real containers need root'
  const missing = programs.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`
  if (!existsSync(busyboxPath)) return 'not installed: busybox-static'
  if (!['/opt/cni/bin/bridge', '/usr/lib/cni/bridge'].some((path) => existsSync(path))) return 'not installed: containernetworking-plugins'
  return whyNoRights()
}

/** Root in a container of somebody else's may lack what it takes to make others. */
export function whyNoRights(): string | false {
  const succeeds = (command: string, args: string[]) => spawnSync(command, args).status === 0
  if (!succeeds('unshare', ['--mount', '--net', '--pid', '--fork', 'true'])) return 'namespaces cannot be made here'
  if (!succeeds('iptables', ['-w', '-t', 'nat', '-L', '-n'])) return 'the rules of the network cannot be changed here'
  if (thisProcess.userNamespace !== undefined) return false
  const group = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup'].find((path) => existsSync(path))
  try {
    rmdirSync(mkdtempSync(`${group}/tn-test-`))
    // With cgroup v2 a group that has processes of its own, such as that of a container around us, hands nothing on.
    const handedOn = '/sys/fs/cgroup/cgroup.subtree_control'
    if (existsSync(handedOn)) writeFileSync(handedOn, '+memory')
  } catch {
    return 'cgroups cannot be made here'
  }
  return false
}

/** With the test images. Pods have addresses that nobody else on the machine has, unless a range is given. */
export async function startTestContainerd({ podCidr = freePodCidr() }: { podCidr?: string } = {}): Promise<TestContainerd> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-cri-'))
  const cniConfigDirectory = join(directory, 'cni')
  const bridge = bridgeNameOf(directory)
  const podCgroup = `kubepods-${bridge}`
  const network = { name: bridge, bridge, podCidrs: [podCidr], dataDirectory: join(directory, 'addresses') }
  const seams = { files, processes, clock: systemClock, logger: silentLogger }
  let socket = join(directory, 'containerd.sock')
  let pid = 0
  const start = async () => {
    const started = await startContainerd({ directory, sandboxImage: sandboxImageName, cniConfigDirectory }, seams)
    socket = started.socket
    pid = started.pid
  }
  // For tests that are ended from outside, by those who have lost patience: they would not wait for this either.
  const endLater = () => {
    const program = join(import.meta.dirname, 'end-containerd.ts')
    spawn(process.execPath, [program, directory], { detached: true, stdio: 'ignore' }).unref()
  }
  const end = () => process.exit(143)
  process.once('exit', endLater)
  // Not once: a second signal would end the process before it gets there.
  process.on('SIGTERM', end)
  const dispose = async () => {
    try {
      if (pid > 0 && !processes.isAlive(pid)) await start()
      using client = await CriClient.connect(socket)
      await removeAllPods(client)
    } catch {
      // What is left is taken down below.
    }
    await endContainerd(directory)
    process.off('exit', endLater)
    process.off('SIGTERM', end)
  }
  try {
    await layBridgeNetwork(network, cniConfigDirectory, { files, processes })
    await start()
    using client = await CriClient.connect(socket)
    const architecture: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'
    await ensureSandboxImage(client, architecture, { files, clock: systemClock })
    const archive = join(directory, 'test-image.tar')
    writeFileSync(archive, testImageArchive())
    await importImages(client, archive, { files, clock: systemClock })
    rmSync(archive)
  } catch (error) {
    await dispose()
    throw error
  }
  return {
    socket,
    directory,
    bridge,
    podCidr,
    podCgroup,
    client: () => CriClient.connect(socket),
    async kill() {
      process.kill(pid, 'SIGKILL')
      while (isRunning(pid)) await systemClock.sleep(5)
    },
    start,
    [Symbol.asyncDispose]: dispose,
  }
}

/** The containerd of a test, whatever it still runs, and all that it has left on the machine. */
export async function endContainerd(directory: string): Promise<void> {
  const bridge = bridgeNameOf(directory)
  await stopContainerd(directory, { files, processes, clock: systemClock })
  endShims(privateContainerdSocket(directory))
  unmountBelow(directory)
  await (await findCgroups(files))?.remove(`kubepods-${bridge}`)
  const network = { bridge, dataDirectory: join(directory, 'addresses') }
  await removeBridgeNetwork(network, join(directory, 'cni'), { files, processes })
  rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
}

/** By chance, since others may look at the same time. */
export function freePodCidr(): string {
  const taken = spawnSync('ip', ['-4', 'route'], { encoding: 'utf8' }).stdout ?? ''
  for (;;) {
    const prefix = `10.201.${randomInt(256)}.`
    if (!taken.includes(prefix)) return `${prefix}0/24`
  }
}

/** Neither gone nor dead and not yet buried. */
function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/status`, 'utf8').includes('State:\tZ')
  } catch {
    return false
  }
}

/** Shims hold containers when containerd is gone; each names the socket it belongs to. */
function endShims(socket: string): void {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
      if (words[0]?.includes('containerd-shim') && words.includes(socket)) process.kill(Number(name), 'SIGKILL')
    } catch {
      // It ended by itself.
    }
  }
}

/** Takes off whatever is mounted below, so that the directory can be removed. */
export function unmountBelow(directory: string): void {
  const points = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((point) => point.startsWith(`${directory}/`))
  for (const point of points.reverse()) spawnSync('umount', ['-l', point])
}
