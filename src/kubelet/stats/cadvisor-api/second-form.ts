/** Figures of containers in the form of cAdvisor's API v2, made of those of v1. */
import type { MachineFacts } from '#kubelet/stats/cadvisor-metrics.ts'
import type { ContainerInfo } from '#kubelet/stats/container-info.ts'
import type { NodeUsage } from '#kubelet/stats/usage.ts'

type FirstStats = {
  timestamp: string
  cpu: { usage: { total: number } }
  memory: { usage: number }
  network: { interfaces: object[] }
  filesystem?: { usage: number }[]
}
type FirstSpec = { creation_time: string; image?: string; memory: object; cpu: object } & Record<`has_${string}`, boolean | undefined>

const latest = ({ stats }: ContainerInfo): FirstStats => stats[0] as FirstStats
const specIn = ({ spec }: ContainerInfo): FirstSpec => spec as FirstSpec

export function attributesOf({ kernelVersion, osImage, version, cores, memoryBytes, machineId, systemUuid }: MachineFacts): object {
  return {
    ...{ kernel_version: kernelVersion, container_os_version: osImage, docker_version: '', cadvisor_version: version },
    ...{ num_cores: cores, cpu_frequency_khz: 0, memory_capacity: memoryBytes, machine_id: machineId, system_uuid: systemUuid },
  }
}

export function specOf(info: ContainerInfo): object {
  const { creation_time, image, cpu, memory, has_network, has_filesystem } = specIn(info)
  return {
    ...{ creation_time, image: image ?? '', aliases: info.aliases ?? [], namespace: info.namespace ?? '' },
    ...{ has_cpu: true, cpu, has_memory: true, memory, has_network, has_filesystem, has_diskio: false, has_custom_metrics: false },
  }
}

/** One sample of v2.0, which names what it has. */
export function statsOf(info: ContainerInfo): object {
  const { timestamp, cpu, memory, network, filesystem } = latest(info)
  const { has_network = false } = specIn(info)
  return {
    ...{ timestamp, has_cpu: true, cpu, has_memory: true, memory, has_network, network: has_network ? network.interfaces : [] },
    ...{ has_filesystem: filesystem !== undefined, filesystem: filesystem ?? [], has_diskio: false, has_load: false },
  }
}

/** One sample of v2.1. */
export function wholeStats(info: ContainerInfo): object {
  const { timestamp, cpu, memory, network, filesystem } = latest(info)
  const usage = filesystem?.reduce((sum, each) => sum + each.usage, 0)
  return {
    ...{ timestamp, cpu, memory, network: { interfaces: network.interfaces } },
    ...(usage !== undefined && { filesystem: { totalUsageBytes: usage, baseUsageBytes: usage } }),
  }
}

/** What is used now; of a minute, an hour and a day nobody has kept anything. */
export function derivedStats(info: ContainerInfo, laterInfo: ContainerInfo): object {
  const [one, other] = [latest(info), latest(laterInfo)]
  const tookMs = Date.parse(other.timestamp) - Date.parse(one.timestamp)
  const nanos = other.cpu.usage.total - one.cpu.usage.total
  const millicores = tookMs > 0 ? Math.round(nanos / 1000 / tookMs) : 0
  const nothing = { percent_complete: 0, cpu: unknown, memory: unknown }
  return {
    ...{ timestamp: other.timestamp, latest_usage: { cpu: millicores, memory: other.memory.usage } },
    ...{ minute_usage: nothing, hour_usage: nothing, day_usage: nothing },
  }
}

const unknown = { present: false, mean: 0, max: 0, fifty: 0, ninety: 0, ninetyfive: 0 }

export function storageOf({ fs, imageFs }: NodeUsage): object[] {
  const described = [
    { of: fs, labels: ['root'] },
    { of: imageFs, labels: ['runtime-images'] },
  ]
  return described.flatMap(({ of, labels }) =>
    of === undefined
      ? []
      : [
          {
            ...{ timestamp: new Date(of.timeMs).toISOString(), device: '', mountpoint: '/', capacity: of.capacityBytes },
            ...{ usage: of.usedBytes, available: of.availableBytes, inodes: of.inodes, inodes_free: of.inodesFree, labels },
          },
        ],
  )
}
