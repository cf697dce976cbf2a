/** What /proc tells of the whole machine and of networks. */
import type { KernelFiles } from '#base/kernel-files.ts'
import type { GroupUsage, InterfaceUsage } from '#kubelet/stats/usage.ts'

/** The whole machine. */
export function machineUsage(files: KernelFiles, timeMs: number): GroupUsage {
  const memory = new Map(
    (files.read('/proc/meminfo') ?? '').split('\n').map((line) => {
      const [name = '', amount = '0'] = line.split(/:\s+/)
      return [name, Number.parseInt(amount, 10) * 1024] as const
    }),
  )
  const bytes = (name: string) => memory.get(name) ?? 0
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] =
    (files.read('/proc/stat') ?? '').split('\n', 1)[0]?.split(/\s+/).map(Number) ?? []
  const vmStat = files.read('/proc/vmstat') ?? ''
  const counted = (name: string) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(vmStat)?.[1] ?? 0)
  const limitBytes = bytes('MemTotal')
  const usageBytes = limitBytes - bytes('MemFree')
  const ticks = 10_000_000
  return {
    timeMs,
    cpu: {
      usageNanos: (user + nice + system + irq + softIrq) * ticks,
      userNanos: (user + nice) * ticks,
      systemNanos: (system + irq + softIrq) * ticks,
    },
    memory: {
      usageBytes,
      workingSetBytes: Math.max(0, usageBytes - bytes('Inactive(file)')),
      rssBytes: bytes('AnonPages'),
      cacheBytes: bytes('Cached'),
      swapBytes: bytes('SwapTotal') - bytes('SwapFree'),
      pageFaults: counted('pgfault'),
      majorPageFaults: counted('pgmajfault'),
      limitBytes,
    },
  }
}

/** When the machine was started. */
export function bootTimeMs(files: KernelFiles): number {
  return Number(/^btime (\d+)/m.exec(files.read('/proc/stat') ?? '')?.[1] ?? 0) * 1000
}

export function processCounts(files: KernelFiles): { most: number; current: number } | undefined {
  const most = Number(files.read('/proc/sys/kernel/pid_max') ?? Number.NaN)
  const current = Number(/\/(\d+)/.exec(files.read('/proc/loadavg') ?? '')?.[1] ?? Number.NaN)
  return Number.isNaN(most + current) ? undefined : { most, current }
}

/** The interfaces of the network that a process is in: `self`, or its number. Without loopback. */
export function interfacesOf(files: KernelFiles, process: string): InterfaceUsage[] {
  const found: InterfaceUsage[] = []
  for (const line of (files.read(`/proc/${process}/net/dev`) ?? '').split('\n').slice(2)) {
    const [name = '', counts = ''] = line.split(':')
    if (counts === '' || name.trim() === 'lo') continue
    const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0, , , , , txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] =
      counts.trim().split(/\s+/).map(Number)
    found.push({ name: name.trim(), rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped })
  }
  return found
}

/** By which interface other machines are reached. */
export function defaultInterface(files: KernelFiles, process: string): string | undefined {
  const routes = (files.read(`/proc/${process}/net/route`) ?? '').split('\n').slice(1)
  return routes.map((line) => line.split('\t')).find(([, destination]) => destination === '00000000')?.[0]
}
