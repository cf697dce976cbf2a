/** Those who hand out processors and memory, as the configuration wants them. */
import { join } from 'node:path'
import { milliValueOf, parseQuantity, wholeValueOf } from '#api/meta/quantity.ts'
import type { Files } from '#base/files.ts'
import type { Metrics } from '#base/metrics.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { CpuAssignments } from '#kubelet/cpu-manager/cpu-assignments.ts'
import { CpuManager } from '#kubelet/cpu-manager/cpu-manager.ts'
import { parseCpuPolicyOptions } from '#kubelet/cpu-manager/cpu-policy-options.ts'
import { MemoryLedger } from '#kubelet/memory-manager/memory-ledger.ts'
import { MemoryManager } from '#kubelet/memory-manager/memory-manager.ts'
import { parseCpuSet } from '#kubelet/topology/cpu-set.ts'
import type { MachineTopology } from '#kubelet/topology/machine-topology.ts'
import { maxNumaNodes } from '#kubelet/topology/numa-mask.ts'
import type { TopologyPolicy, TopologyPolicyName } from '#kubelet/topology/topology-hint.ts'
import type { Affinities } from '#kubelet/topology/topology-manager.ts'

export type ManagerParts = {
  configuration: KubeletConfiguration
  rootDirectory: string
  files: Files
  metrics: Metrics
  topology: MachineTopology
  affinities: Affinities
}

const usualNumaNodes = 8

/** Undefined where nobody is asked for nodes. Throws where the configuration is wrong. */
export function topologyPolicyOf(configuration: KubeletConfiguration, { nodes }: MachineTopology): TopologyPolicy | undefined {
  const { topologyManagerPolicy: name, topologyManagerScope: scope, topologyManagerPolicyOptions: texts } = configuration
  if (!['container', 'pod'].includes(scope)) throw new Error(`unknown scope: "${scope}"`)
  if (name === 'none') return undefined
  if (!['best-effort', 'restricted', 'single-numa-node'].includes(name)) throw new Error(`unknown policy: "${name}"`)
  let prefersClosest = false
  let most = usualNumaNodes
  for (const [option, value] of Object.entries(texts)) {
    if (option === 'prefer-closest-numa-nodes') prefersClosest = value === 'true'
    else if (option === 'max-allowable-numa-nodes') most = Number(value)
    else throw new Error(`unknown Topology Manager Policy option: "${option}"`)
  }
  if (!(most >= usualNumaNodes))
    throw new Error(`the minimum value of "max-allowable-numa-nodes" should not be less than ${usualNumaNodes}`)
  if (nodes.length > Math.min(most, maxNumaNodes)) throw new Error(`unsupported on machines with more than ${most} NUMA Nodes`)
  if (prefersClosest && nodes.some(({ distances }) => distances.length === 0)) throw new Error('error getting NUMA distances')
  return { name: name as Exclude<TopologyPolicyName, 'none'>, nodes, prefersClosest }
}

/** Undefined where all processors are everybody's. */
export async function openCpuManager(parts: ManagerParts): Promise<CpuManager | undefined> {
  const { configuration, rootDirectory, files, metrics, topology, affinities } = parts
  const { cpuManagerPolicy: policy, cpuManagerPolicyOptions: texts, reservedSystemCPUs: which, topologyManagerPolicy } = configuration
  if (policy === 'none') {
    if (Object.keys(texts).length > 0) throw new Error('None policy: received unsupported options')
    return undefined
  }
  if (policy !== 'static') throw new Error(`unknown policy: "${policy}"`)
  const options = parseCpuPolicyOptions(texts)
  if (options.alignsBySocket && topologyManagerPolicy === 'single-numa-node') {
    throw new Error('Topology manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option')
  }
  const reservedMillis = [configuration.systemReserved, configuration.kubeReserved].reduce(
    (sum, list) => sum + milliValueOf(list['cpu']),
    0,
  )
  if (which === '' && reservedMillis === 0) {
    throw new Error('[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero')
  }
  const assignments = new CpuAssignments(files, join(rootDirectory, 'cpu_manager_state'), policy)
  await assignments.load()
  const reserved = which === '' ? Math.ceil(reservedMillis / 1000) : parseCpuSet(which)
  const manager = new CpuManager({ topology, options, reserved, affinities, assignments, metrics })
  await assignments.save()
  return manager
}

/** Undefined where memory is taken wherever there is some. */
export async function openMemoryManager(parts: ManagerParts): Promise<MemoryManager | undefined> {
  const { configuration, rootDirectory, files, metrics, topology, affinities } = parts
  const { memoryManagerPolicy: policy, reservedMemory } = configuration
  if (policy === 'None') return undefined
  if (policy !== 'Static') throw new Error(`unknown policy: "${policy}"`)
  const reserved = new Map<number, Record<string, number>>()
  const totals = new Map<string, number>()
  for (const { numaNode, limits } of reservedMemory) {
    if (!topology.nodes.some(({ id }) => id === numaNode)) {
      throw new Error(`the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine`)
    }
    for (const [type, amount] of Object.entries(limits)) {
      const bytes = wholeValueOf(amount)
      reserved.set(numaNode, { ...reserved.get(numaNode), [type]: bytes })
      totals.set(type, (totals.get(type) ?? 0) + bytes)
    }
  }
  const kept = keptMemory(configuration)
  for (const type of new Set([...totals.keys(), 'memory'])) {
    const [promised, wanted] = [totals.get(type) ?? 0, type === 'memory' ? kept : 0]
    if (promised === wanted) continue
    const figures = `the total amount "${promised}" of type "${type}" is not equal to the value "${wanted}"`
    throw new Error(`${figures} determined by Node Allocatable feature`)
  }
  if (kept <= 0) throw new Error('[memorymanager] you should specify the system reserved memory')
  const ledger = new MemoryLedger(files, join(rootDirectory, 'memory_manager_state'), topology.nodes, reserved)
  await ledger.load()
  await ledger.save()
  return new MemoryManager({ affinities, ledger, metrics })
}

/** For the system, for the node's own programs, and what is kept free. */
function keptMemory({ systemReserved, kubeReserved, evictionHard }: KubeletConfiguration): number {
  const threshold = evictionHard['memory.available'] ?? '0'
  const free = threshold.endsWith('%') ? 0 : parseQuantity(threshold).value()
  return wholeValueOf(systemReserved['memory']) + wholeValueOf(kubeReserved['memory']) + free
}
