/** Machines of other builds, as the kernel would show them. */
import type { KernelFiles } from '#base/kernel-files.ts'
import { formatCpuSet } from '#kubelet/topology/cpu-set.ts'
import { type MachineTopology, readMachineTopology } from '#kubelet/topology/machine-topology.ts'

export type MachineShape = {
  sockets: number
  nodesPerSocket: number
  coresPerNode: number
  threadsPerCore: number
  memoryBytesPerNode?: number
}

/** Processors are numbered as Linux does: the second threads of all cores come after all first ones. */
function kernelOf({ sockets, nodesPerSocket, coresPerNode, threadsPerCore, memoryBytesPerNode = 4 * 2 ** 30 }: MachineShape): KernelFiles {
  const nodes = sockets * nodesPerSocket
  const cores = nodes * coresPerNode
  const texts = new Map<string, string>()
  const cpuRoot = '/sys/devices/system/cpu'
  texts.set(`${cpuRoot}/online`, `0-${cores * threadsPerCore - 1}\n`)
  const cpusOf = (core: number) => Array.from({ length: threadsPerCore }, (_, thread) => core + thread * cores)
  for (let core = 0; core < cores; core++) {
    const node = Math.floor(core / coresPerNode)
    const cache = Array.from({ length: coresPerNode }, (_, index) => cpusOf(node * coresPerNode + index)).flat()
    for (const cpu of cpusOf(core)) {
      texts.set(`${cpuRoot}/cpu${cpu}/topology/physical_package_id`, `${Math.floor(node / nodesPerSocket)}\n`)
      texts.set(`${cpuRoot}/cpu${cpu}/topology/thread_siblings_list`, `${formatCpuSet(new Set(cpusOf(core)))}\n`)
      texts.set(`${cpuRoot}/cpu${cpu}/cache/index3/level`, '3\n')
      texts.set(`${cpuRoot}/cpu${cpu}/cache/index3/shared_cpu_list`, `${formatCpuSet(new Set(cache))}\n`)
    }
  }
  for (let node = 0; node < nodes; node++) {
    const place = `/sys/devices/system/node/node${node}`
    const own = Array.from({ length: coresPerNode }, (_, index) => cpusOf(node * coresPerNode + index)).flat()
    texts.set(`${place}/cpulist`, `${formatCpuSet(new Set(own))}\n`)
    texts.set(`${place}/meminfo`, `Node ${node} MemTotal:       ${memoryBytesPerNode / 1024} kB\n`)
    const distance = (other: number) =>
      other === node ? 10 : Math.floor(other / nodesPerSocket) === Math.floor(node / nodesPerSocket) ? 11 : 21
    texts.set(`${place}/distance`, `${Array.from({ length: nodes }, (_, other) => distance(other)).join(' ')}\n`)
    texts.set(`${place}/hugepages/hugepages-2048kB/nr_hugepages`, '0\n')
  }
  return {
    read: (path) => texts.get(path),
    list(path) {
      const names = new Set<string>()
      for (const each of texts.keys()) if (each.startsWith(`${path}/`)) names.add(each.slice(path.length + 1).split('/', 1)[0] ?? '')
      return [...names]
    },
  }
}

export const machineOf = (shape: MachineShape): MachineTopology =>
  readMachineTopology({ kernel: kernelOf(shape), memoryBytes: 0, hugePages: new Map() })
