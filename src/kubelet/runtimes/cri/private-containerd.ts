/** A containerd of our own: with its own directories, socket and configuration. It outlives us, and is found again. */
import { join } from 'node:path'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { type PidFile, runningPid, stopByPidFile } from '#base/pid-file.ts'
import type { Processes } from '#base/processes.ts'
import { containerdConfig } from '#kubelet/runtimes/cri/containerd-config.ts'
import { CriClient, type CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'

export type PrivateContainerdOptions = {
  /** Everything it keeps is below. */
  directory: string
  sandboxImage: string
  cniConfigDirectory: string
  /** Found by itself unless given. */
  cniBinDirectory?: string
  /** Takes the configuration that was written before, where there is one: for those who come to clean up. */
  keepsConfiguration?: boolean
}

export type ContainerdSeams = { files: Files; processes: Processes; clock: Clock; logger: Logger }

export type PrivateContainerd = { socket: string; pid: number; wasRunning: boolean }

/** A busy machine takes its time; one that ends is told of at once. */
const startTimeoutMs = 120_000
const answerTimeoutMs = 10_000
const stopTimeoutMs = 10_000
const cniBinDirectories = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni']
const sysResourceBit = 24n
const parallelRemovals = 8

export const privateContainerdSocket = (directory: string): string => join(directory, 'containerd.sock')

/** Resolves when it answers; rejects with the end of its log when it does not in time. */
export async function startContainerd(options: PrivateContainerdOptions, seams: ContainerdSeams): Promise<PrivateContainerd> {
  const { directory } = options
  const { files, processes, clock, logger } = seams
  const socket = privateContainerdSocket(directory)
  const running = await runningContainerd(directory, seams)
  const config = join(directory, 'config.toml')
  const kept = await files.readTextIfPresent(config)
  const text = options.keepsConfiguration && kept !== undefined ? kept : await configText(options, socket, files)
  if (running !== undefined && text === kept && (await answers(socket))) return { socket, pid: running, wasRunning: true }
  // Containers run on meanwhile.
  if (running !== undefined) await stopContainerd(directory, seams)
  await files.makeDirectory(directory)
  await files.write(config, text)
  const log = join(directory, 'containerd.log')
  const output = await files.openForOutput(log)
  try {
    const child = await processes.start('containerd', ['--config', config], { detached: true, output: output.descriptor })
    await files.write(pidFileOf(directory).path, `${child.pid}\n`)
    let hasEnded = false
    void child.exited.then(() => {
      hasEnded = true
    })
    const untilMs = clock.monotonic() + startTimeoutMs
    while (!(await answers(socket))) {
      if (hasEnded || clock.monotonic() > untilMs) {
        child.kill('SIGKILL')
        throw new Error(`containerd did not start; the end of ${log}:\n${await endOf(log, files)}`)
      }
      await clock.sleep(20)
    }
    logger.debug('started containerd', { pid: child.pid, socket })
    return { socket, pid: child.pid, wasRunning: false }
  } finally {
    await output.close()
  }
}

/** Containers run on without it. */
export async function stopContainerd(directory: string, seams: Pick<ContainerdSeams, 'files' | 'processes' | 'clock'>): Promise<void> {
  await stopByPidFile(pidFileOf(directory), { ...seams, timeoutMs: stopTimeoutMs })
}

/** Stops and removes all that runs in a runtime, whoever started it there: for one that is ours alone. */
export async function removeAllPods(client: CriConnection): Promise<void> {
  const { items } = await client.call('listPodSandbox', {})
  const ids = items.map(({ id }) => id)
  const removeNext = async (): Promise<void> => {
    for (let podSandboxId = ids.pop(); podSandboxId !== undefined; podSandboxId = ids.pop()) {
      await client.call('stopPodSandbox', { podSandboxId })
      await client.call('removePodSandbox', { podSandboxId })
    }
  }
  await Promise.all(Array.from({ length: parallelRemovals }, removeNext))
}

/** The pid of the containerd that was started in this directory and lives. */
export function runningContainerd(directory: string, seams: Pick<ContainerdSeams, 'files' | 'processes'>): Promise<number | undefined> {
  return runningPid(pidFileOf(directory), seams)
}

function pidFileOf(directory: string): PidFile {
  return { path: join(directory, 'containerd.pid'), commandWords: [join(directory, 'config.toml')] }
}

async function answers(socket: string): Promise<boolean> {
  using client = await CriClient.connect(socket)
  try {
    await client.call('version', { version: '0.1.0' }, { timeoutMs: answerTimeoutMs })
    return true
  } catch {
    return false
  }
}

async function configText(options: PrivateContainerdOptions, socket: string, files: Files): Promise<string> {
  const { directory, sandboxImage, cniConfigDirectory } = options
  return containerdConfig({
    ...{ root: join(directory, 'root'), state: join(directory, 'state'), socket, sandboxImage },
    cni: {
      binDirectory: options.cniBinDirectory ?? (await stockPluginDirectory(files, ['bridge'])) ?? (cniBinDirectories[0] as string),
      configDirectory: cniConfigDirectory,
    },
    mayNotLowerOomScores: !(await hasSysResource(files)),
  })
}

/** Where the machine has CNI's plugins, all of those that are needed. */
export async function stockPluginDirectory(files: Files, needed: readonly string[]): Promise<string | undefined> {
  for (const directory of cniBinDirectories) {
    const found = await Promise.all(needed.map((name) => files.statTarget(join(directory, name))))
    if (found.every((stat) => stat !== undefined)) return directory
  }
  return undefined
}

/** Without this right runc cannot give sandboxes the score they should have, and fails with no hint of why. */
async function hasSysResource(files: Files): Promise<boolean> {
  const hex = /^CapEff:\s+([0-9a-f]+)$/m.exec((await files.readTextIfPresent('/proc/self/status')) ?? '')?.[1]
  return hex === undefined || ((BigInt(`0x${hex}`) >> sysResourceBit) & 1n) === 1n
}

async function endOf(path: string, files: Files): Promise<string> {
  return ((await files.readTextIfPresent(path)) ?? '').split('\n').slice(-15).join('\n')
}
