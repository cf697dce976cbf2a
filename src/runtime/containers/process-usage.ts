/** What the processes of a container take, where there is no cgroup that would count it: as /proc tells of each. */
import type { Files } from '#base/files.ts'
import type { CgroupUsage } from '#runtime/cgroups/container-cgroup.ts'

/** The kernel counts in hundredths of a second here, whatever its own clock does. */
const nanosPerTick = 10_000_000n
const bytesPerKibibyte = 1024n
/** A container that has more is not counted to its end: the count itself would cost more than it tells. */
const mostProcesses = 1000

/** Of a container's first process and all that come from it. Those that have ended are counted with who waited for them. */
export async function usageOfProcesses(firstPid: number, files: Files): Promise<CgroupUsage> {
  let [cpuNanos, rssBytes] = [0n, 0n]
  const waiting = [firstPid]
  for (let count = 0; count < mostProcesses; count++) {
    const pid = waiting.pop()
    if (pid === undefined) break
    const read = (file: string) => files.readTextIfPresent(`/proc/${pid}/${file}`).catch(() => undefined)
    const [stat, status, children] = await Promise.all([read('stat'), read('status'), read(`task/${pid}/children`)])
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
    cpuNanos += fields.slice(11, 15).reduce((sum, ticks) => sum + BigInt(ticks), 0n) * nanosPerTick
    const kibibytes = (name: string) => BigInt(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status ?? '')?.[1] ?? 0)
    rssBytes += (kibibytes('RssAnon') + kibibytes('RssShmem')) * bytesPerKibibyte
    waiting.push(
      ...(children ?? '')
        .split(' ')
        .map(Number)
        .filter((child) => child > 0),
    )
  }
  return { cpuNanos, memoryBytes: rssBytes, workingSetBytes: rssBytes, rssBytes }
}
