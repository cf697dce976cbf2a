/** Which container runtime a cluster's own node uses: one that is there, a private containerd, or none but this very process. */
import { delimiter, join } from 'node:path'
import type { Files } from '#base/files.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { dockerEndpointOf, usualDockerEndpoint } from '#cmd/runtime/docker-endpoint.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { privateContainerdSocket } from '#kubelet/runtimes/cri/private-containerd.ts'
import { bridgeNameOf } from '#network/bridge-network.ts'

export type RuntimeChoice =
  | { kind: 'socket'; socket: string }
  | { kind: 'private'; directory: string }
  /** Docker behind our own process; what it does not keep for us is in the directory. */
  | { kind: 'docker'; endpoint: string; directory: string }
  /** None but our own process. */
  | { kind: 'embedded'; directory: string }
  /** Why there is none, and what to do about it. */
  | { kind: 'none'; why: string }

const usualSockets = ['/run/containerd/containerd.sock', '/run/crio/crio.sock', '/var/run/cri-dockerd.sock']
const neededPrograms = ['containerd', 'containerd-shim-runc-v2', 'runc', 'ip', 'iptables']
/** The kernel takes no longer ones for sockets. */
const longestSocketPath = 107

type RuntimeOptions = Pick<UpOptions, 'dataDir' | 'runtime' | 'criSocket'> & Partial<Pick<UpOptions, 'dockerEndpoint'>>
type RuntimeSeams = Pick<ClusterSeams, 'files' | 'machineNetwork' | 'whyNotRootless'>

/** Throws where a runtime was asked for by name and cannot be had. */
export async function chooseRuntime(options: RuntimeOptions, seams: RuntimeSeams): Promise<RuntimeChoice> {
  const { runtime, criSocket } = options
  if (criSocket !== '') {
    const socket = criSocket.replace(/^unix:\/\//, '')
    if ((await seams.files.statTarget(socket))?.kind !== 'socket')
      throw new Error(`--cri-socket: ${socket} is not a socket of a container runtime`)
    return { kind: 'socket', socket }
  }
  if (runtime === 'embedded') {
    const why = await whyNotEmbedded(seams)
    if (why !== undefined) throw new Error(`--runtime embedded: ${why}`)
    return { kind: 'embedded', directory: embeddedDirectory(options.dataDir) }
  }
  if (runtime === 'docker') {
    const endpoint = options.dockerEndpoint ?? usualDockerEndpoint
    const why = await whyNotDocker(endpoint, seams)
    if (why !== undefined) throw new Error(`--runtime docker: ${why}`)
    return { kind: 'docker', endpoint, directory: dockerDirectory(options.dataDir) }
  }
  const choice = await findRuntime(options, seams)
  if (choice.kind === 'none' && runtime === 'cri') throw new Error(`--runtime cri: ${choice.why}`)
  return choice
}

async function findRuntime({ dataDir, runtime }: RuntimeOptions, seams: RuntimeSeams): Promise<RuntimeChoice> {
  const { files } = seams
  if (thisMachine().platform !== 'linux') return { kind: 'none', why: 'real containers need Linux' }
  if (!thisProcess.isRoot) return { kind: 'none', why: needsRoot(seams) }
  if (await missingCapability(files)) return { kind: 'none', why: needsCapabilities }
  // The machine's runtimes are root's.
  if (seams.machineNetwork !== undefined) return { kind: 'embedded', directory: embeddedDirectory(dataDir) }
  const directory = containerdDirectory(dataDir)
  // What was ours before stays ours, whatever else has been installed since.
  const embedded = embeddedDirectory(dataDir)
  const mayEmbed = runtime === 'auto'
  const docker = dockerDirectory(dataDir)
  const endpoint = mayEmbed ? await dockerEndpointOf(docker, { files }) : undefined
  if (endpoint !== undefined) return { kind: 'docker', endpoint, directory: docker }
  if (mayEmbed && (await files.stat(embedded)) !== undefined) return { kind: 'embedded', directory: embedded }
  if ((await files.stat(join(directory, 'config.toml'))) === undefined) {
    for (const socket of usualSockets) if (await speaksCri(socket, files)) return { kind: 'socket', socket }
  }
  const missing = await missingPrograms(files)
  if (missing.length > 0) {
    const why = mayEmbed ? await whyNotEmbedded(seams) : undefined
    if (mayEmbed && why === undefined) return { kind: 'embedded', directory: embedded }
    const what = `no container runtime was found (${usualSockets.join(', ')}), and for a private one there is no ${missing.join(', ')}`
    const own = why === undefined ? '' : `; the embedded one cannot be used: ${why}`
    return { kind: 'none', why: `${what}${own}; on Debian: apt install containerd runc iproute2 iptables nftables` }
  }
  if (privateContainerdSocket(directory).length > longestSocketPath) {
    return { kind: 'none', why: `the path of the data directory (${dataDir}) is too long for a socket in it; choose another --data-dir` }
  }
  return { kind: 'private', directory }
}

/** Everything of the private containerd: images, containers, socket, log. */
export const containerdDirectory = (dataDir: string): string => join(dataDir, 'containerd')
export const networksDirectory = (dataDir: string): string => join(containerdDirectory(dataDir), 'networks')
/** Everything of the embedded runtime: images, containers, socket. */
export const embeddedDirectory = (dataDir: string): string => join(dataDir, 'runtime')
/** What is known of the pods that run in Docker. */
export const dockerDirectory = (dataDir: string): string => join(dataDir, 'docker')
/** Another one for each cluster on a machine. */
export const podCgroupOf = (dataDir: string): string => `kubepods-${bridgeNameOf(dataDir)}`

const needsRoot = ({ whyNotRootless }: RuntimeSeams): string =>
  `real containers need root (sudo)${whyNotRootless === undefined ? '' : `, or ${whyNotRootless}`}`

const needsCapabilities = 'this root may not make namespaces and networks; a container of Docker may with --privileged'

/** SYS_ADMIN and NET_ADMIN: what root in a container usually has not. */
const neededCapabilities = (1n << 21n) | (1n << 12n)

async function missingCapability(files: Files): Promise<boolean> {
  const status = (await files.readTextIfPresent('/proc/self/status')) ?? ''
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1]
  return effective !== undefined && (BigInt(`0x${effective}`) & neededCapabilities) !== neededCapabilities
}

async function whyNotEmbedded(seams: RuntimeSeams): Promise<string | undefined> {
  if (thisMachine().platform !== 'linux') return 'real containers need Linux'
  if (!thisProcess.isRoot) return needsRoot(seams)
  if (await missingCapability(seams.files)) return needsCapabilities
  const { whyNoSystemCalls } = await import('#base/system-calls.ts')
  const missing = await missingPrograms(seams.files, ['ip', 'nsenter'])
  if (missing.length > 0) return `there is no ${missing.join(', ')}; on Debian: apt install iproute2 util-linux`
  return whyNoSystemCalls()
}

async function whyNotDocker(endpoint: string, seams: RuntimeSeams): Promise<string | undefined> {
  const socket = endpoint.replace(/^unix:\/\//, '')
  if (!socket.startsWith('/')) return `--docker-endpoint must be a socket on this machine (unix:///…), not ${endpoint}`
  const why = await whyNotEmbedded(seams)
  if (why !== undefined) return why
  const isThere = (await seams.files.statTarget(socket))?.kind === 'socket'
  return isThere ? undefined : `no Docker listens at ${socket}; on Debian: apt install docker.io`
}

async function missingPrograms(files: Files, programs: readonly string[] = neededPrograms): Promise<string[]> {
  const directories = [...(thisProcess.environment['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']
  const missing: string[] = []
  for (const program of programs) {
    // A directory that may not be read holds no program for us.
    const isThere = (directory: string) => files.stat(join(directory, program)).catch(() => undefined)
    const places = await Promise.all(directories.map(isThere))
    if (places.every((place) => place === undefined)) missing.push(program)
  }
  return missing
}

async function speaksCri(socket: string, files: Files): Promise<boolean> {
  if ((await files.stat(socket))?.kind !== 'socket') return false
  using client = await CriClient.connect(socket)
  return client.call('version', { version: '0.1.0' }, { timeoutMs: 2000 }).then(
    () => true,
    () => false,
  )
}
