/** What a group of processes may use, told to the kernel in the words of the cgroup version it has. */
import type { CgroupFiles } from '#base/cgroup-files.ts'
import { quotaPeriodMicros } from '#kubelet/runtimes/cri/linux-resources.ts'

/** What is left out stays as it is; 0 is as much as there is, and for what is kept for the group nothing. */
export type GroupLimits = {
  shares?: number
  quotaMicros?: number
  memoryBytes?: number
  pids?: number
  /** Memory that the kernel never takes away, and that it takes away last; cgroup v2 alone has them. */
  memoryMinBytes?: number
  memoryLowBytes?: number
}

export async function limitGroup(cgroups: CgroupFiles, group: string, limits: GroupLimits): Promise<void> {
  const { shares, quotaMicros, memoryBytes, pids, memoryMinBytes, memoryLowBytes } = limits
  const write = async (controller: string, file: string, value: string | number) => cgroups.write(group, controller, file, String(value))
  if (cgroups.version === 1) {
    if (shares !== undefined) await write('cpu', 'cpu.shares', shares)
    if (quotaMicros !== undefined) {
      await write('cpu', 'cpu.cfs_period_us', quotaPeriodMicros)
      await write('cpu', 'cpu.cfs_quota_us', quotaMicros || -1)
    }
    if (memoryBytes !== undefined) await write('memory', 'memory.limit_in_bytes', memoryBytes || -1)
  } else {
    if (shares !== undefined) await write('cpu', 'cpu.weight', weightOf(shares))
    if (quotaMicros !== undefined) await write('cpu', 'cpu.max', `${quotaMicros || 'max'} ${quotaPeriodMicros}`)
    if (memoryBytes !== undefined) await write('memory', 'memory.max', memoryBytes || 'max')
    if (memoryMinBytes !== undefined) await write('memory', 'memory.min', memoryMinBytes)
    if (memoryLowBytes !== undefined) await write('memory', 'memory.low', memoryLowBytes)
  }
  if (pids !== undefined) await write('pids', 'pids.max', pids || 'max')
}

/** Shares of 2 to 262144 are weights of 1 to 10000; the curve is the one that runc of 1.3 and crun use. */
export function weightOf(shares: number): number {
  if (shares === 0) return 0
  if (shares <= 2) return 1
  if (shares >= 262_144) return 10_000
  const log = Math.log2(shares)
  return Math.ceil(10 ** ((log * log + 125 * log) / 612 - 7 / 34))
}
