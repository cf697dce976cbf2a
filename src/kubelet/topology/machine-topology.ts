/** How the machine is built: which processors share a core, a cache, a socket, and which memory is near them. */
import { join } from 'node:path'
import type { KernelFiles } from '#base/kernel-files.ts'
import { type CpuSet, parseCpuSet, sortedCpus } from '#kubelet/topology/cpu-set.ts'
import { maxNumaNodes } from '#kubelet/topology/numa-mask.ts'

export type CpuPlace = { cpu: number; core: number; socket: number; numa: number; uncore: number }

export type NumaNode = {
  id: number
  cpus: CpuSet
  memoryBytes: number
  /** How many there are, by the size of a page in KiB. */
  hugePages: ReadonlyMap<number, number>
  /** To every node, itself included, by the order of their ids; empty where the kernel tells none. */
  distances: readonly number[]
}

export type MachineTopology = { cpus: readonly CpuPlace[]; nodes: readonly NumaNode[] }

export type TopologySource = {
  kernel: KernelFiles
  /** Stands for `/`: tests have trees of other machines. */
  root?: string
  /** Where the kernel does not tell, the machine is one node with this. */
  memoryBytes: number
  hugePages: ReadonlyMap<number, number>
}

/** Processors that are off are not there. */
export function readMachineTopology({ kernel, root = '/', memoryBytes, hugePages }: TopologySource): MachineTopology {
  const cpuRoot = join(root, 'sys/devices/system/cpu')
  const online = parseCpuSet(kernel.read(join(cpuRoot, 'online')) ?? '0')
  const nodes = readNodes(kernel, join(root, 'sys/devices/system/node'), online)
  const all = nodes.length > 0 ? nodes : [{ id: 0, cpus: online, memoryBytes, hugePages, distances: [] }]
  const nodeOf = new Map(all.flatMap(({ id, cpus }) => [...cpus].map((cpu) => [cpu, id] as const)))
  const cpus = sortedCpus(online).map((cpu) => placeOf(kernel, join(cpuRoot, `cpu${cpu}`), cpu, nodeOf.get(cpu) ?? 0))
  return { cpus, nodes: all }
}

function placeOf(kernel: KernelFiles, directory: string, cpu: number, numa: number): CpuPlace {
  const number = (file: string) => Number.parseInt(kernel.read(join(directory, file)) ?? '', 10)
  const socket = Math.max(0, number('topology/physical_package_id') || 0)
  // Ids of cores are unique within a socket only: the first processor of a core stands for it.
  const siblings = kernel.read(join(directory, 'topology/thread_siblings_list'))
  const core = siblings === undefined ? cpu : smallestOf(siblings, cpu)
  return { cpu, core, socket, numa, uncore: lastCacheOf(kernel, join(directory, 'cache')) ?? numa }
}

const smallestOf = (list: string, cpu: number): number => sortedCpus(parseCpuSet(list))[0] ?? cpu

/** The cache furthest from the processor that is its share of the chip: the third level. */
function lastCacheOf(kernel: KernelFiles, directory: string): number | undefined {
  for (const name of kernel.list(directory)) {
    if (!name.startsWith('index') || kernel.read(join(directory, name, 'level'))?.trim() !== '3') continue
    const shared = kernel.read(join(directory, name, 'shared_cpu_list'))
    if (shared !== undefined) return sortedCpus(parseCpuSet(shared))[0]
  }
  return undefined
}

function readNodes(kernel: KernelFiles, directory: string, online: CpuSet): NumaNode[] {
  const ids = kernel
    .list(directory)
    .flatMap((name) => /^node(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .filter((id) => id < maxNumaNodes)
    .sort((left, right) => left - right)
  return ids.map((id) => {
    const place = join(directory, `node${id}`)
    const memory = /MemTotal:\s+(\d+) kB/.exec(kernel.read(join(place, 'meminfo')) ?? '')
    const distances = (kernel.read(join(place, 'distance')) ?? '').trim().split(/\s+/).filter(Boolean).map(Number)
    return {
      id,
      cpus: parseCpuSet(kernel.read(join(place, 'cpulist')) ?? '').intersection(online),
      memoryBytes: Number(memory?.[1] ?? 0) * 1024,
      hugePages: hugePagesOf(kernel, join(place, 'hugepages')),
      distances,
    }
  })
}

function hugePagesOf(kernel: KernelFiles, directory: string): Map<number, number> {
  const pages = new Map<number, number>()
  for (const name of kernel.list(directory)) {
    const size = /^hugepages-(\d+)kB$/.exec(name)?.[1]
    if (size !== undefined) pages.set(Number(size), Number(kernel.read(join(directory, name, 'nr_hugepages')) ?? 0))
  }
  return pages
}
