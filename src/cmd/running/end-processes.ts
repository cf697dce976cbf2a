/** Ends what still runs for a cluster, whatever is left of its files: the kernel knows. */
import { basename, join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { kernelFiles } from '#base/kernel-files.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'

const patienceMs = 10_000
const lookEveryMs = 50

export type ClusterTraces = {
  /** With and without links. */
  directories: readonly string[]
  /** The group of the cluster's pods. */
  podCgroup: string
}

export type SeenProcess = { pid: number; args: readonly string[]; openFiles: readonly string[]; cgroups: string }

const programs = /^(typernetes|tn|typernetes\.js|main\.[jt]s|kubelet|kube-\w+)$/

/**
 * What a process is to a cluster. The cluster itself and its nodes hold files below its directory open; its containerd was told a
 * configuration there, and so were those that look after single containers. Nobody else who reads a file there is meant.
 */
export function roleOf(
  { args, openFiles, cgroups }: SeenProcess,
  { directories, podCgroup }: ClusterTraces,
): 'cluster' | 'runtime' | 'pod' | undefined {
  if (cgroups.split('\n').some((line) => line.split('/').includes(podCgroup))) return 'pod'
  const isBelow = (path: string) => directories.some((directory) => path.startsWith(`${directory}/`))
  const [command = '', script = ''] = args
  if (basename(command).startsWith('containerd')) return args.some(isBelow) ? 'runtime' : undefined
  return programs.test(basename(script)) && openFiles.some(isBelow) ? 'cluster' : undefined
}

/** Resolves to how many there were. */
export async function endProcessesOf(traces: ClusterTraces): Promise<number> {
  const found = (await seenProcesses()).flatMap((seen) => {
    const role = roleOf(seen, traces)
    return role === undefined ? [] : [{ ...seen, role }]
  })
  // The cluster first: it would start the others again.
  for (const role of ['cluster', 'runtime', 'pod'] as const) {
    const pids = found.filter((each) => each.role === role).map(({ pid }) => pid)
    for (const pid of pids) nodeProcesses.kill(pid, role === 'pod' ? 'SIGKILL' : 'SIGTERM')
    const untilMs = systemClock.monotonic() + patienceMs
    while (pids.some((pid) => nodeProcesses.isAlive(pid))) {
      if (systemClock.monotonic() > untilMs) for (const pid of pids) nodeProcesses.kill(pid, 'SIGKILL')
      await systemClock.sleep(lookEveryMs)
    }
  }
  return found.length
}

async function seenProcesses(): Promise<SeenProcess[]> {
  const pids = kernelFiles
    .list('/proc')
    .map(Number)
    .filter((pid) => pid > 1 && pid !== thisProcess.pid)
  return Promise.all(
    pids.map(async (pid) => {
      const names = kernelFiles.list(`/proc/${pid}/fd`)
      const links = await Promise.all(
        names.map((name) => nodeFiles.readLink(join('/proc', String(pid), 'fd', name)).catch(() => undefined)),
      )
      return {
        pid,
        args: (kernelFiles.read(`/proc/${pid}/cmdline`) ?? '').split('\0'),
        openFiles: links.filter((link) => link !== undefined),
        cgroups: kernelFiles.read(`/proc/${pid}/cgroup`) ?? '',
      }
    }),
  )
}
