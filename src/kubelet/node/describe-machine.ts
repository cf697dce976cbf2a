/** The machine this runs on, as a node. */

import { milliValueOf, wholeValueOf } from '#api/meta/quantity.ts'
import type { Host, HostFacts } from '#base/host.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { DeviceCapacity } from '#kubelet/devices/device-manager.ts'
import { hugePagesResource } from '#kubelet/node/huge-pages-resource.ts'
import { agentFeatures, type NodeDescription } from '#kubelet/node/node-object.ts'

export type MachineOptions = Pick<
  NodeDescription,
  | 'name'
  | 'hostname'
  | 'addresses'
  | 'labels'
  | 'annotations'
  | 'taints'
  | 'providerId'
  | 'cloud'
  | 'port'
  | 'declaredFeatures'
  | 'images'
  | 'volumesInUse'
  | 'pressure'
  | 'config'
  | 'problemConditions'
> & {
  host: Host
  /** Where pods have their files. */
  rootDirectory: string
  runtimeVersion: string
  version: string
  maxPods: number
  /** No more than so many for each processor, whatever `maxPods` says; 0 is no such limit. */
  podsPerCore?: number
  /** What is kept from pods, several times over where several keep: for the system, for the node's own programs. */
  reserved?: readonly Readonly<Record<string, string>>[]
  /** What device plugins offer. */
  devices?: DeviceCapacity
}

/** Kept free: below, a node would have to throw pods out. */
const keptFree = { memoryBytes: 100 << 20, storageShare: 0.1 }

export async function describeMachine(options: MachineOptions): Promise<NodeDescription> {
  const { host, rootDirectory, runtimeVersion, version, maxPods, podsPerCore = 0, reserved = [], devices, ...node } = options
  const facts = await host.facts()
  const pods = String(podsPerCore > 0 ? Math.min(maxPods, facts.cores * podsPerCore) : maxPods)
  const { capacityBytes: total } = await host.fileSystem(rootDirectory)
  const { kernelVersion, osImage, operatingSystem, architecture, machineId, systemUuid, bootId, swapBytes } = facts
  const hugeBytes = [...facts.hugePages].reduce((sum, [kibibytes, count]) => sum + kibibytes * 1024 * count, 0)
  const kept = (name: string) => reserved.reduce((sum, list) => sum + wholeValueOf(list[name]), 0)
  const keptCpuMillis = reserved.reduce((sum, list) => sum + milliValueOf(list['cpu']), 0)
  const memoryBytes = facts.memoryBytes - kept('memory') - keptFree.memoryBytes - hugeBytes
  const storageBytes = Math.floor(total * (1 - keptFree.storageShare)) - kept('ephemeral-storage')
  return {
    declaredFeatures: agentFeatures,
    ...node,
    capacity: {
      ...{ cpu: String(facts.cores), memory: `${Math.floor(facts.memoryBytes / 1024)}Ki` },
      ...{ 'ephemeral-storage': `${Math.floor(total / 1024)}Ki`, pods, ...hugePagesOf(facts) },
      ...devices?.capacity,
    },
    allocatable: {
      cpu: keptCpuMillis === 0 ? String(facts.cores) : `${Math.max(0, facts.cores * 1000 - keptCpuMillis)}m`,
      memory: `${Math.max(0, Math.floor(memoryBytes / 1024))}Ki`,
      ...{ 'ephemeral-storage': String(Math.max(0, storageBytes)), pods, ...hugePagesOf(facts) },
      ...devices?.allocatable,
    },
    info: {
      ...{ machineId, systemUuid, bootId, kernelVersion, osImage, operatingSystem, architecture },
      ...{
        containerRuntimeVersion: runtimeVersion,
        kubeletVersion: version,
        ...omitEmpty({ swapBytes }),
      },
    },
  }
}

function hugePagesOf({ hugePages }: HostFacts): Record<string, string> {
  return Object.fromEntries(
    [...hugePages].map(([kibibytes, count]) => {
      const name = hugePagesResource(kibibytes)
      const mebibytes = (kibibytes * count) / 1024
      return [name, count === 0 ? '0' : `${mebibytes}Mi`]
    }),
  )
}
