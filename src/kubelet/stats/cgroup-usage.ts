/** What the processes of a cgroup use, as both versions of the kernel's interface tell it. */

import type { CgroupFiles } from '#base/cgroup-files.ts'
import { defined } from '#base/defined.ts'
import type { KernelFiles } from '#base/kernel-files.ts'
import type { CpuUsage, GroupUsage, MemoryUsage } from '#kubelet/stats/usage.ts'

export type CgroupRoots = Pick<CgroupFiles, 'version' | 'roots'>

/** Undefined where there is no such group. */
export function cgroupUsage(group: string, { version, roots }: CgroupRoots, files: KernelFiles, timeMs: number): GroupUsage | undefined {
  const at = (controller: string) => {
    const directory = `${roots.get(controller) ?? ''}/${group.replace(/^\//, '')}`
    return (file: string) => (roots.has(controller) ? files.read(`${directory}/${file}`) : undefined)
  }
  const usage = version === 1 ? usageOfV1(at, roots) : usageOfV2(at('memory'), at('cpu'))
  if (usage === undefined) return undefined
  const processes = numberIn(at('pids')('pids.current'))
  return { timeMs, ...usage, ...defined({ processes }) }
}

type ReadFile = (file: string) => string | undefined

function usageOfV1(
  at: (controller: string) => ReadFile,
  roots: ReadonlyMap<string, string>,
): Pick<GroupUsage, 'cpu' | 'memory'> | undefined {
  const accounting = at(roots.has('cpuacct') ? 'cpuacct' : 'cpu')
  const usageNanos = numberIn(accounting('cpuacct.usage'))
  const memory = at('memory')
  const usageBytes = numberIn(memory('memory.usage_in_bytes'))
  if (usageNanos === undefined || usageBytes === undefined) return undefined
  const stat = keyed(memory('memory.stat'))
  const amount = (name: string) => stat.get(`total_${name}`) ?? stat.get(name) ?? 0
  const cpuStat = keyed(at('cpu')('cpu.stat'))
  const ticks = keyed(accounting('cpuacct.stat'))
  return {
    cpu: {
      usageNanos,
      userNanos: (ticks.get('user') ?? 0) * tickNanos,
      systemNanos: (ticks.get('system') ?? 0) * tickNanos,
      ...throttling(cpuStat, cpuStat.get('throttled_time') ?? 0),
    },
    memory: {
      ...sizes(usageBytes, amount('inactive_file')),
      rssBytes: amount('rss'),
      cacheBytes: amount('cache'),
      swapBytes: amount('swap'),
      pageFaults: amount('pgfault'),
      majorPageFaults: amount('pgmajfault'),
      ...limitOf(memory('memory.limit_in_bytes')),
      maxUsageBytes: numberIn(memory('memory.max_usage_in_bytes')) ?? usageBytes,
      failures: numberIn(memory('memory.failcnt')) ?? 0,
    },
  }
}

function usageOfV2(memory: ReadFile, cpu: ReadFile): Pick<GroupUsage, 'cpu' | 'memory'> | undefined {
  const cpuStat = keyed(cpu('cpu.stat'))
  const usageMicros = cpuStat.get('usage_usec')
  const stat = keyed(memory('memory.stat'))
  // The root group has no memory.current: what it uses is the sum of its parts.
  const usageBytes = numberIn(memory('memory.current')) ?? (stat.size === 0 ? undefined : (stat.get('anon') ?? 0) + (stat.get('file') ?? 0))
  if (usageMicros === undefined || usageBytes === undefined) return undefined
  return {
    cpu: {
      usageNanos: usageMicros * 1000,
      userNanos: (cpuStat.get('user_usec') ?? 0) * 1000,
      systemNanos: (cpuStat.get('system_usec') ?? 0) * 1000,
      ...throttling(cpuStat, (cpuStat.get('throttled_usec') ?? 0) * 1000),
    },
    memory: {
      ...sizes(usageBytes, stat.get('inactive_file') ?? 0),
      rssBytes: stat.get('anon') ?? 0,
      cacheBytes: stat.get('file') ?? 0,
      swapBytes: numberIn(memory('memory.swap.current')) ?? 0,
      pageFaults: stat.get('pgfault') ?? 0,
      majorPageFaults: stat.get('pgmajfault') ?? 0,
      ...limitOf(memory('memory.max')),
      maxUsageBytes: numberIn(memory('memory.peak')) ?? usageBytes,
      failures: keyed(memory('memory.events')).get('max') ?? 0,
    },
  }
}

/** Linux counts time of processes in hundredths of a second. */
const tickNanos = 10_000_000

function throttling(stat: ReadonlyMap<string, number>, throttledNanos: number): Pick<CpuUsage, 'throttling'> {
  const periods = stat.get('nr_periods') ?? 0
  return periods === 0 ? {} : { throttling: { periods, throttledPeriods: stat.get('nr_throttled') ?? 0, throttledNanos } }
}

function sizes(usageBytes: number, inactiveFileBytes: number): Pick<MemoryUsage, 'usageBytes' | 'workingSetBytes'> {
  return { usageBytes, workingSetBytes: Math.max(0, usageBytes - inactiveFileBytes) }
}

/** No limit is `max`, or the largest number of whole pages. */
function limitOf(text: string | undefined): Pick<MemoryUsage, 'limitBytes'> {
  const limitBytes = numberIn(text)
  return limitBytes === undefined || limitBytes > Number.MAX_SAFE_INTEGER ? {} : { limitBytes }
}

function numberIn(text: string | undefined): number | undefined {
  return text === undefined || !/^\d+\s*$/.test(text) ? undefined : Number(text)
}

/** `name number`, a line each. */
function keyed(text: string | undefined): Map<string, number> {
  const found = new Map<string, number>()
  for (const line of text?.split('\n') ?? []) {
    const space = line.indexOf(' ')
    if (space > 0) found.set(line.slice(0, space), Number(line.slice(space + 1)))
  }
  return found
}
