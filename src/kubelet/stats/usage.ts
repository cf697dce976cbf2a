/** What a node, its pods and their containers use, whoever measures it. Counters only grow; amounts are of `timeMs`. */

export type CpuUsage = {
  usageNanos: number
  userNanos?: number
  systemNanos?: number
  /** How often it was held back by its quota, out of how many periods, and for how long. */
  throttling?: { periods: number; throttledPeriods: number; throttledNanos: number }
}

export type MemoryUsage = {
  usageBytes: number
  /** What cannot be taken back at once: without pages of files that nobody has used lately. */
  workingSetBytes: number
  rssBytes: number
  cacheBytes: number
  swapBytes: number
  pageFaults: number
  majorPageFaults: number
  /** Absent where there is none. */
  limitBytes?: number
  maxUsageBytes?: number
  failures?: number
}

export type GroupUsage = { timeMs: number; cpu: CpuUsage; memory: MemoryUsage; processes?: number }

export type InterfaceUsage = {
  name: string
  rxBytes: number
  rxPackets: number
  rxErrors: number
  rxDropped: number
  txBytes: number
  txPackets: number
  txErrors: number
  txDropped: number
}

export type FileSystemUsage = {
  timeMs: number
  capacityBytes: number
  availableBytes: number
  usedBytes: number
  inodes: number
  inodesFree: number
  inodesUsed: number
}

/** How much of a file system something takes up. */
export type DiskUsage = { usedBytes: number; inodesUsed: number }

export type ContainerUsage = GroupUsage & {
  name: string
  id: string
  image: string
  startedMs: number
  rootFs?: DiskUsage
  logs?: DiskUsage
  /** The group of its processes, as the kernel names it. */
  cgroup: string
}

export type VolumeUsage = { name: string; claim?: { name: string; namespace: string }; usage: FileSystemUsage }

export type PodUsage = {
  name: string
  namespace: string
  uid: string
  startedMs: number
  cgroup: string
  /** Of everything in it. */
  whole: GroupUsage
  containers: ContainerUsage[]
  /** Absent for pods in the node's own network. */
  interfaces?: InterfaceUsage[]
  volumes?: VolumeUsage[]
}

export type NodeUsage = {
  whole: GroupUsage
  startedMs: number
  /** The agent itself, all pods together, … */
  systemContainers: (GroupUsage & { name: string; startedMs: number })[]
  interfaces: InterfaceUsage[]
  defaultInterface?: string
  fs?: FileSystemUsage
  imageFs?: FileSystemUsage
  processes?: { most: number; current: number }
  pods: PodUsage[]
}

/**
 * How much is asked for, each with what goes before: processor time, memory and processes; then disks, networks and volumes; then what
 * only cAdvisor tells (time by user and system, throttling, the highest use of memory). More takes longer.
 */
export type Detail = 'amounts' | 'summary' | 'all'

export type CollectOptions = { detail: Detail }

/** Who measures: the machine's kernel, or a simulation. */
export type UsageSource = { collect(options: CollectOptions): Promise<NodeUsage> }
