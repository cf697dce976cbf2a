/** A container's share of the machine, told to the kernel. */
import { join } from 'node:path'
import type { CgroupFiles } from '#base/cgroup-files.ts'
import type { LinuxResources } from '#wire/cri/cri-types.ts'

/** Every tree that a process enters makes the whole machine wait for a moment: containers enter those that limit or count something. */
const usualControllers = ['cpu', 'cpuacct', 'memory', 'pids', 'devices']
/** Enough to find it by. */
export const sandboxControllers = ['pids'] as const

export function controllersFor(
  { roots }: CgroupFiles,
  { cpusetCpus = '', cpusetMems = '', hugepageLimits = [] }: LinuxResources,
): string[] {
  const wanted = [
    ...usualControllers,
    ...(cpusetCpus !== '' || cpusetMems !== '' ? ['cpuset'] : []),
    ...(hugepageLimits.some(({ limit }) => limit > 0) ? ['hugetlb'] : []),
  ]
  return wanted.filter((controller) => roots.has(controller))
}

/** Files that a process writes itself into; with v2 it is one. */
export function procsFiles({ roots }: CgroupFiles, group: string, controllers: readonly string[]): string[] {
  const places = controllers.flatMap((controller) => roots.get(controller) ?? [])
  return [...new Set(places)].map((root) => join(root, group, 'cgroup.procs'))
}

export async function limitCgroup(cgroups: CgroupFiles, group: string, resources: LinuxResources): Promise<void> {
  if (cgroups.version === 1) await limitVersion1(cgroups, group, resources)
  else await limitVersion2(cgroups, group, resources)
  const { cpusetCpus = '', cpusetMems = '' } = resources
  if (cpusetCpus !== '') await cgroups.write(group, 'cpuset', 'cpuset.cpus', cpusetCpus)
  if (cpusetMems !== '') await cgroups.write(group, 'cpuset', 'cpuset.mems', cpusetMems)
}

async function limitVersion1(cgroups: CgroupFiles, group: string, resources: LinuxResources): Promise<void> {
  const { cpuShares = 0, cpuQuota = 0, cpuPeriod = 0, memoryLimitInBytes = 0, memorySwapLimitInBytes = 0, hugepageLimits = [] } = resources
  if (cpuShares > 0) await cgroups.write(group, 'cpu', 'cpu.shares', String(cpuShares))
  if (cpuPeriod > 0) await cgroups.write(group, 'cpu', 'cpu.cfs_period_us', String(cpuPeriod))
  if (cpuQuota !== 0) await cgroups.write(group, 'cpu', 'cpu.cfs_quota_us', String(cpuQuota))
  const memory = () => cgroups.write(group, 'memory', 'memory.limit_in_bytes', String(memoryLimitInBytes))
  const both = () =>
    memorySwapLimitInBytes > 0 ? cgroups.write(group, 'memory', 'memory.memsw.limit_in_bytes', String(memorySwapLimitInBytes)) : undefined
  if (memoryLimitInBytes !== 0) {
    try {
      await memory()
      await both()
    } catch {
      // The two together may not be less than the first: which comes first depends on whether they grow.
      await both()
      await memory()
    }
  }
  for (const { pageSize, limit } of hugepageLimits) {
    await cgroups.write(group, 'hugetlb', `hugetlb.${pageSize}.limit_in_bytes`, String(limit))
  }
}

async function limitVersion2(cgroups: CgroupFiles, group: string, resources: LinuxResources): Promise<void> {
  const {
    cpuShares = 0,
    cpuQuota = 0,
    cpuPeriod = 0,
    memoryLimitInBytes = 0,
    memorySwapLimitInBytes = 0,
    hugepageLimits = [],
    unified = {},
  } = resources
  if (cpuShares > 0) await cgroups.write(group, 'cpu', 'cpu.weight', String(weightOf(cpuShares)))
  if (cpuQuota !== 0) await cgroups.write(group, 'cpu', 'cpu.max', `${cpuQuota > 0 ? cpuQuota : 'max'} ${cpuPeriod || 100_000}`)
  if (memoryLimitInBytes !== 0) {
    await cgroups.write(group, 'memory', 'memory.max', memoryLimitInBytes > 0 ? String(memoryLimitInBytes) : 'max')
    // Here swap is counted apart; CRI speaks of both together.
    const swap = Math.max(0, memorySwapLimitInBytes - memoryLimitInBytes)
    if (memorySwapLimitInBytes > 0) await cgroups.write(group, 'memory', 'memory.swap.max', String(swap))
  }
  for (const { pageSize, limit } of hugepageLimits) await cgroups.write(group, 'hugetlb', `hugetlb.${pageSize}.max`, String(limit))
  for (const [file, value] of Object.entries(unified)) await cgroups.write(group, file.split('.')[0] ?? '', file, value)
}

/** Shares of 2 to 262144 are weights of 1 to 10000; the curve is the one that runc of 1.3 and crun use. */
function weightOf(shares: number): number {
  if (shares <= 2) return 1
  if (shares >= 262_144) return 10_000
  const log = Math.log2(shares)
  return Math.ceil(10 ** ((log * log + 125 * log) / 612 - 7 / 34))
}

/** Beside those bound into every container: terminals, and making nodes that then do not work. */
const usualDevices = [
  'c *:* m',
  'b *:* m',
  'c 1:3 rwm',
  'c 1:5 rwm',
  'c 1:7 rwm',
  'c 1:8 rwm',
  'c 1:9 rwm',
  'c 5:0 rwm',
  'c 5:2 rwm',
  'c 136:* rwm',
]

export type AllowedDevice = { kind: 'blockDevice' | 'characterDevice'; major: number; minor: number; permissions: string }

/** With v2 the kernel asks programs instead of files; there the mounts of a container allow no devices but those bound into it. */
export function deviceRules(
  { version, roots }: CgroupFiles,
  group: string,
  devices: readonly AllowedDevice[],
): { path: string; text: string }[] {
  const root = roots.get('devices')
  if (version !== 1 || root === undefined) return []
  const own = devices.map(({ kind, major, minor, permissions }) => `${kind === 'blockDevice' ? 'b' : 'c'} ${major}:${minor} ${permissions}`)
  const allowed = [...usualDevices, ...own].map((text) => ({ path: join(root, group, 'devices.allow'), text }))
  return [{ path: join(root, group, 'devices.deny'), text: 'a' }, ...allowed]
}

/** Whether the kernel has killed something in it for want of memory. */
export async function hadOom(cgroups: CgroupFiles, group: string): Promise<boolean> {
  const text = await cgroups.read(group, 'memory', cgroups.version === 1 ? 'memory.oom_control' : 'memory.events')
  return Number(/^oom_kill (\d+)/m.exec(text ?? '')?.[1] ?? 0) > 0
}

export async function processesIn(cgroups: CgroupFiles, group: string): Promise<number[]> {
  const controller = cgroups.roots.has('pids') ? 'pids' : [...cgroups.roots.keys()][0]
  const text = controller === undefined ? undefined : await cgroups.read(group, controller, 'cgroup.procs')
  return (text ?? '')
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0)
}

export type CgroupUsage = { cpuNanos: bigint; memoryBytes: bigint; workingSetBytes: bigint; rssBytes: bigint }

export async function usageOf(cgroups: CgroupFiles, group: string): Promise<CgroupUsage> {
  const number = (text: string | undefined) => BigInt(/^\d+/.exec(text ?? '')?.[0] ?? 0)
  const field = (text: string | undefined, name: string) => BigInt(new RegExp(`^${name} (\\d+)`, 'm').exec(text ?? '')?.[1] ?? 0)
  const stat = await cgroups.read(group, 'memory', 'memory.stat')
  if (cgroups.version === 1) {
    const memoryBytes = number(await cgroups.read(group, 'memory', 'memory.usage_in_bytes'))
    const cpu = cgroups.roots.has('cpuacct') ? 'cpuacct' : 'cpu'
    const idle = field(stat, 'total_inactive_file')
    return {
      cpuNanos: number(await cgroups.read(group, cpu, 'cpuacct.usage')),
      memoryBytes,
      workingSetBytes: memoryBytes > idle ? memoryBytes - idle : 0n,
      rssBytes: field(stat, 'total_rss'),
    }
  }
  const memoryBytes = number(await cgroups.read(group, 'memory', 'memory.current'))
  const idle = field(stat, 'inactive_file')
  return {
    cpuNanos: field(await cgroups.read(group, 'cpu', 'cpu.stat'), 'usage_usec') * 1000n,
    memoryBytes,
    workingSetBytes: memoryBytes > idle ? memoryBytes - idle : 0n,
    rssBytes: field(stat, 'anon'),
  }
}
