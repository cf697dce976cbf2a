/** Figures in the form that agents of old showed them in: cAdvisor's `ContainerInfo`. */

import { formatTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import type { ContainerUsage, GroupUsage, InterfaceUsage, NodeUsage, PodUsage } from '#kubelet/stats/usage.ts'

export type ContainerInfo = { name: string; aliases?: string[]; namespace?: string; spec: object; stats: object[] }

/** The whole machine. */
export function machineInfo({ whole, startedMs, interfaces, fs }: NodeUsage): ContainerInfo {
  const filesystem = fs && [{ device: '', type: 'vfs', capacity: fs.capacityBytes, usage: fs.usedBytes, available: fs.availableBytes }]
  return infoOf('/', startedMs, whole, { interfaces, ...defined({ filesystem }) })
}

export function podContainerInfo(pod: PodUsage, container: ContainerUsage): ContainerInfo {
  const { id, image, cgroup, startedMs, name, rootFs } = container
  const bare = id.replace(/^[^/]*:\/\//, '')
  const filesystem = rootFs && [{ device: '', type: 'vfs', capacity: 0, usage: rootFs.usedBytes, inodes: rootFs.inodesUsed }]
  return {
    ...infoOf(cgroup, startedMs, container, { image, interfaces: pod.interfaces ?? [], ...defined({ filesystem }) }),
    aliases: [`k8s_${name}_${pod.name}_${pod.namespace}_${pod.uid}`, bare],
    namespace: id.split('://', 1)[0] ?? '',
  }
}

/** By the names of their groups: the machine's own, those of pods, and those of containers; all below the one that is named. */
export function infosBelow(usage: NodeUsage, root: string, withSubcontainers: boolean): Record<string, ContainerInfo> {
  const all = new Map<string, ContainerInfo>([['/', machineInfo(usage)]])
  for (const { name, startedMs, ...group } of usage.systemContainers) all.set(`/${name}`, infoOf(`/${name}`, startedMs, group, {}))
  for (const pod of usage.pods) {
    all.set(pod.cgroup, infoOf(pod.cgroup, pod.startedMs, pod.whole, { interfaces: pod.interfaces ?? [] }))
    for (const container of pod.containers) all.set(container.cgroup, podContainerInfo(pod, container))
  }
  const isBelow = (name: string) => root === '/' || name === root || name.startsWith(`${root}/`)
  return Object.fromEntries([...all].filter(([name]) => (withSubcontainers ? isBelow(name) : name === root)))
}

type Extras = { image?: string; interfaces?: readonly InterfaceUsage[]; filesystem?: object[] }

function infoOf(name: string, startedMs: number, group: GroupUsage, { image, interfaces = [], filesystem }: Extras): ContainerInfo {
  const { cpu, memory, timeMs, processes } = group
  const throttling = cpu.throttling ?? { periods: 0, throttledPeriods: 0, throttledNanos: 0 }
  const faults = { pgfault: memory.pageFaults, pgmajfault: memory.majorPageFaults }
  return {
    name,
    spec: {
      creation_time: formatTime(startedMs),
      ...{ has_cpu: true, cpu: { limit: 0, max_limit: 0 }, has_memory: true, memory: { limit: memory.limitBytes ?? 0 } },
      ...{ has_network: interfaces.length > 0, has_filesystem: filesystem !== undefined, has_diskio: false, has_custom_metrics: false },
      ...defined({ has_processes: processes === undefined ? undefined : true, image }),
    },
    stats: [
      {
        timestamp: new Date(timeMs).toISOString(),
        cpu: {
          usage: { total: cpu.usageNanos, user: cpu.userNanos ?? 0, system: cpu.systemNanos ?? 0 },
          cfs: { periods: throttling.periods, throttled_periods: throttling.throttledPeriods, throttled_time: throttling.throttledNanos },
          load_average: 0,
        },
        diskio: {},
        memory: {
          ...{ usage: memory.usageBytes, max_usage: memory.maxUsageBytes ?? 0, cache: memory.cacheBytes, rss: memory.rssBytes },
          ...{ swap: memory.swapBytes, mapped_file: 0, working_set: memory.workingSetBytes, failcnt: memory.failures ?? 0 },
          ...{ container_data: faults, hierarchical_data: faults },
        },
        network: { ...firstOf(interfaces), interfaces: interfaces.map(interfaceOf) },
        ...defined({ filesystem }),
        task_stats: { nr_sleeping: 0, nr_running: 0, nr_stopped: 0, nr_uninterruptible: 0, nr_io_wait: 0 },
        ...(processes === undefined ? {} : { processes: { process_count: processes } }),
      },
    ],
  }
}

const interfaceOf = (each: InterfaceUsage) => ({
  name: each.name,
  ...{ rx_bytes: each.rxBytes, rx_packets: each.rxPackets, rx_errors: each.rxErrors, rx_dropped: each.rxDropped },
  ...{ tx_bytes: each.txBytes, tx_packets: each.txPackets, tx_errors: each.txErrors, tx_dropped: each.txDropped },
})

function firstOf(interfaces: readonly InterfaceUsage[]): object {
  const [first] = interfaces
  return first === undefined ? { name: '', rx_bytes: 0, tx_bytes: 0 } : interfaceOf(first)
}
