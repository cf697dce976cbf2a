/** Which container runtime a cluster's own node uses: one that is there, a private containerd, or none but this very process. */
import { delimiter, join } from 'node:path'
import type { Files } from '#base/files.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { privateContainerdSocket } from '#kubelet/runtimes/cri/private-containerd.ts'
import { bridgeNameOf } from '#network/bridge-network.ts'

export type RuntimeChoice =
  | { kind: 'socket'; socket: string }
  | { kind: 'private'; directory: string }
  /** None but our own process. */
  | { kind: 'embedded'; directory: string }
  /** Why there is none, and what to do about it. */
  | { kind: 'none'; why: string }

const usualSockets = ['/run/containerd/containerd.sock', '/run/crio/crio.sock', '/var/run/cri-dockerd.sock']
const neededPrograms = ['containerd', 'containerd-shim-runc-v2', 'runc', 'ip', 'iptables']
/** The kernel takes no longer ones for sockets. */
const longestSocketPath = 107

type RuntimeWish = Pick<UpOptions, 'dataDir' | 'runtime' | 'criSocket'>

/** Throws where a runtime was asked for by name and cannot be had. */
export async function chooseRuntime(options: RuntimeWish, seams: { files: Files }): Promise<RuntimeChoice> {
  const { runtime, criSocket } = options
  if (criSocket !== '') return { kind: 'socket', socket: criSocket.replace(/^unix:\/\//, '') }
  if (runtime === 'embedded') {
    const why = await whyNotEmbedded(seams.files)
    if (why !== undefined) throw new Error(`--runtime embedded: ${why}`)
    return { kind: 'embedded', directory: embeddedDirectory(options.dataDir) }
  }
  const choice = await findRuntime(options, seams)
  if (choice.kind === 'none' && runtime === 'cri') throw new Error(`--runtime cri: ${choice.why}`)
  return choice
}

async function findRuntime({ dataDir, runtime }: RuntimeWish, { files }: { files: Files }): Promise<RuntimeChoice> {
  if (thisMachine().platform !== 'linux') return { kind: 'none', why: 'real containers need Linux' }
  if (!thisProcess.isRoot) return { kind: 'none', why: 'real containers need root (sudo)' }
  const directory = containerdDirectory(dataDir)
  // What was ours before stays ours, whatever else has been installed since.
  const embedded = embeddedDirectory(dataDir)
  const mayEmbed = runtime === 'auto'
  if (mayEmbed && (await files.stat(embedded)) !== undefined) return { kind: 'embedded', directory: embedded }
  if ((await files.stat(join(directory, 'config.toml'))) === undefined) {
    for (const socket of usualSockets) if (await speaksCri(socket, files)) return { kind: 'socket', socket }
  }
  const missing = await missingPrograms(files)
  if (missing.length > 0) {
    const why = mayEmbed ? await whyNotEmbedded(files) : undefined
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
/** Another one for each cluster on a machine. */
export const podCgroupOf = (dataDir: string): string => `kubepods-${bridgeNameOf(dataDir)}`

async function whyNotEmbedded(files: Files): Promise<string | undefined> {
  if (thisMachine().platform !== 'linux') return 'real containers need Linux'
  if (!thisProcess.isRoot) return 'containers need root (sudo)'
  const { whyNoSystemCalls } = await import('#base/system-calls.ts')
  const missing = await missingPrograms(files, ['ip', 'nsenter'])
  if (missing.length > 0) return `there is no ${missing.join(', ')}; on Debian: apt install iproute2 util-linux`
  return whyNoSystemCalls()
}

async function missingPrograms(files: Files, programs: readonly string[] = neededPrograms): Promise<string[]> {
  const directories = [...(thisProcess.environment['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']
  const missing: string[] = []
  for (const program of programs) {
    const places = await Promise.all(directories.map((directory) => files.stat(join(directory, program))))
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
