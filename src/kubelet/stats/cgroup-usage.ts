/** What the processes of a cgroup use, as both versions of the kernel's interface tell it. */

import type { CgroupFiles } from '#base/cgroup-files.ts'
import type { KeptFile, KeptFiles } from '#base/kept-kernel-files.ts'
import { Amounts } from '#kubelet/stats/amounts.ts'
import type { CpuUsage, Detail, GroupUsage, MemoryUsage } from '#kubelet/stats/usage.ts'

export type CgroupRoots = Pick<CgroupFiles, 'version' | 'roots'>

/** Looks at a group as often as is asked. */
export type CgroupMeter = {
  /** Undefined where there is no such group. */
  usage(timeMs: number, options: MeterOptions): GroupUsage | undefined
}

export type MeterOptions = {
  detail: Detail
  countsProcesses: boolean
  /** Whether it may have a quota of processor time: who has none is never held back. */
  mayThrottle: boolean
}

export function cgroupMeter(group: string, { version, roots }: CgroupRoots, files: KeptFiles): CgroupMeter {
  const at = (controller: string): FileOf => {
    const root = roots.get(controller)
    const directory = `${root}/${group.replace(/^\//, '')}`
    return (file) => (root === undefined ? missing : files.file(`${directory}/${file}`))
  }
  const usageOf = version === 1 ? meterOfV1(at, roots) : meterOfV2(at('memory'), at('cpu'))
  const pids = at('pids')('pids.current')
  return {
    usage(timeMs, { detail, countsProcesses, mayThrottle }) {
      const found = usageOf(detail === 'all', mayThrottle)
      if (found === undefined) return undefined
      const usage: GroupUsage = { timeMs, cpu: found.cpu, memory: found.memory }
      const processes = countsProcesses ? pids.number() : undefined
      if (processes !== undefined) usage.processes = processes
      return usage
    },
  }
}

type FileOf = (file: string) => KeptFile
/** `counters`: what only cAdvisor tells. */
type Meter = (counters: boolean, mayThrottle: boolean) => Pick<GroupUsage, 'cpu' | 'memory'> | undefined

const missing: KeptFile = { text: () => undefined, number: () => undefined }

function meterOfV1(at: (controller: string) => FileOf, roots: ReadonlyMap<string, string>): Meter {
  const accounting = at(roots.has('cpuacct') ? 'cpuacct' : 'cpu')
  const [cpuUsage, cpuTicks, cpuPeriods] = [accounting('cpuacct.usage'), accounting('cpuacct.stat'), at('cpu')('cpu.stat')]
  const memory = at('memory')
  const [memoryUsage, memoryStat, limit] = [memory('memory.usage_in_bytes'), memory('memory.stat'), memory('memory.limit_in_bytes')]
  const [maxUsage, failures] = [memory('memory.max_usage_in_bytes'), memory('memory.failcnt')]
  return (counters, mayThrottle) => {
    const usageNanos = cpuUsage.number()
    const usageBytes = memoryUsage.number()
    if (usageNanos === undefined || usageBytes === undefined) return undefined
    const stat = new Amounts(memoryStat.text() ?? '')
    const amount = (total: string, own: string) => stat.of(total) ?? stat.of(own) ?? 0
    // In the order of the file.
    const cacheBytes = amount('total_cache', 'cache')
    const rssBytes = amount('total_rss', 'rss')
    const swapBytes = amount('total_swap', 'swap')
    const pageFaults = amount('total_pgfault', 'pgfault')
    const majorPageFaults = amount('total_pgmajfault', 'pgmajfault')
    const workingSetBytes = workingSet(usageBytes, amount('total_inactive_file', 'inactive_file'))
    const memory: MemoryUsage = { usageBytes, workingSetBytes, rssBytes, cacheBytes, swapBytes, pageFaults, majorPageFaults }
    setLimit(memory, limit.number())
    if (!counters) return { cpu: { usageNanos }, memory }
    memory.maxUsageBytes = maxUsage.number() ?? usageBytes
    memory.failures = failures.number() ?? 0
    return { cpu: { usageNanos, ...countersOfV1(cpuTicks.text() ?? '', (mayThrottle && cpuPeriods.text()) || '') }, memory }
  }
}

function countersOfV1(ticks: string, periods: string): Omit<CpuUsage, 'usageNanos'> {
  const times = new Amounts(ticks)
  return {
    userNanos: (times.of('user') ?? 0) * tickNanos,
    systemNanos: (times.of('system') ?? 0) * tickNanos,
    ...throttling(new Amounts(periods), 'throttled_time', 1),
  }
}

function meterOfV2(memory: FileOf, cpu: FileOf): Meter {
  const cpuFile = cpu('cpu.stat')
  const [memoryUsage, memoryStat, limit] = [memory('memory.current'), memory('memory.stat'), memory('memory.max')]
  const [swap, peak, events] = [memory('memory.swap.current'), memory('memory.peak'), memory('memory.events')]
  return (counters) => {
    const cpuStat = new Amounts(cpuFile.text() ?? '')
    const usageMicros = cpuStat.of('usage_usec')
    const text = memoryStat.text() ?? ''
    const stat = new Amounts(text)
    const amount = (name: string) => stat.of(name) ?? 0
    const rssBytes = amount('anon')
    const cacheBytes = amount('file')
    // The root group has no memory.current: what it uses is the sum of its parts.
    const usageBytes = memoryUsage.number() ?? (text === '' ? undefined : rssBytes + cacheBytes)
    if (usageMicros === undefined || usageBytes === undefined) return undefined
    const workingSetBytes = workingSet(usageBytes, amount('inactive_file'))
    const [pageFaults, majorPageFaults] = [amount('pgfault'), amount('pgmajfault')]
    const swapBytes = swap.number() ?? 0
    const memory: MemoryUsage = { usageBytes, workingSetBytes, rssBytes, cacheBytes, swapBytes, pageFaults, majorPageFaults }
    setLimit(memory, limit.number())
    if (counters) {
      memory.maxUsageBytes = peak.number() ?? usageBytes
      memory.failures = new Amounts(events.text() ?? '').of('max') ?? 0
    }
    return {
      cpu: {
        usageNanos: usageMicros * 1000,
        userNanos: (cpuStat.of('user_usec') ?? 0) * 1000,
        systemNanos: (cpuStat.of('system_usec') ?? 0) * 1000,
        ...throttling(cpuStat, 'throttled_usec', 1000),
      },
      memory,
    }
  }
}

/** Linux counts time of processes in hundredths of a second. */
const tickNanos = 10_000_000

function throttling(stat: Amounts, timeName: string, nanos: number): Pick<CpuUsage, 'throttling'> {
  const periods = stat.of('nr_periods') ?? 0
  if (periods === 0) return {}
  const throttledPeriods = stat.of('nr_throttled') ?? 0
  return { throttling: { periods, throttledPeriods, throttledNanos: (stat.of(timeName) ?? 0) * nanos } }
}

const workingSet = (usageBytes: number, inactiveFileBytes: number): number => Math.max(0, usageBytes - inactiveFileBytes)

/** No limit is `max`, or the largest number of whole pages. */
function setLimit(memory: MemoryUsage, limitBytes: number | undefined): void {
  if (limitBytes !== undefined && limitBytes <= Number.MAX_SAFE_INTEGER) memory.limitBytes = limitBytes
}
