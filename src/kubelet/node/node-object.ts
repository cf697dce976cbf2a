/** What a node says of itself. */

import type {
  V1ContainerImage,
  V1Node,
  V1NodeAddress,
  V1NodeCondition,
  V1NodeConfigStatus,
  V1NodeFeatures,
  V1NodeRuntimeHandler,
  V1NodeStatus,
  V1NodeSystemInfo,
  V1Taint,
} from '#api/core/v1/types.gen.ts'
import { findCondition, transitionTime } from '#api/meta/find-condition.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { PressureCondition } from '#kubelet/eviction/signals.ts'

export type NodeDescription = {
  name: string
  /** Another name than the node's, where the machine has one. */
  hostname?: string
  addresses: readonly string[]
  capacity: Record<string, string>
  /** Capacity less what the system keeps for itself. */
  allocatable: Record<string, string>
  info: Pick<V1NodeSystemInfo, 'kernelVersion' | 'osImage' | 'containerRuntimeVersion' | 'kubeletVersion'> & {
    machineId: string
    operatingSystem: string
    architecture: string
    /** The machine's id where absent. */
    systemUuid?: string
    bootId?: string
    swapBytes?: number
  }
  labels?: Record<string, string>
  annotations?: Record<string, string>
  taints?: readonly V1Taint[]
  /** How a cloud knows the machine. */
  providerId?: string
  /** Somebody else says what the machine is, and which addresses it has; absent where there is no cloud. */
  cloud?: {
    /** Addresses that the node was given; the cloud has to know them. Empty: the cloud says. */
    addresses: readonly string[]
  }
  /** Where its own server listens; absent when it has none. */
  port?: number
  /** The largest ones; absent where nobody has counted. */
  images?: readonly V1ContainerImage[]
  /** Attached volumes that its pods use; absent where nothing is attached ever. */
  volumesInUse?: readonly string[]
  /** What it has too little of. */
  pressure?: readonly PressureCondition[]
  features?: V1NodeFeatures
  runtimeHandlers?: readonly V1NodeRuntimeHandler[]
  declaredFeatures?: readonly string[]
  /** Where its kubelet's configuration comes from; null where that is its own business, absent where others may tell. */
  config?: V1NodeConfigStatus | null
  /** What plugins have found out about the machine. */
  problemConditions?: readonly ProblemCondition[]
}

/** Keeps pods away until the cloud has said what it knows of the machine. */
const uninitialized: V1Taint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }

export type ProblemCondition = Pick<V1NodeCondition, 'type' | 'status'> & { reason: string; message: string }

/** What pods may ask of every node this program runs, by the names under which nodes declare it. */
export const agentFeatures: readonly string[] = [
  'ExtendWebSocketsToKubelet',
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
]

/** Why the node is not ready; empty when it is. */
export type NodeProblems = readonly string[]

export function nodeObject({
  name,
  hostname = name,
  info,
  labels = {},
  annotations = {},
  taints = [],
  providerId,
  cloud,
}: NodeDescription): V1Node {
  const { operatingSystem, architecture } = info
  const provided = (cloud?.addresses ?? []).join(',')
  return {
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': hostname,
        'kubernetes.io/os': operatingSystem,
        'kubernetes.io/arch': architecture,
        'beta.kubernetes.io/os': operatingSystem,
        'beta.kubernetes.io/arch': architecture,
        ...labels,
      },
      annotations: {
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
        ...annotations,
        ...omitEmpty({ 'alpha.kubernetes.io/provided-node-ip': provided }),
      },
    },
    spec: omitEmpty({ taints: [...taints, ...(cloud === undefined ? [] : [uninitialized])], providerID: providerId }),
  }
}

export function nodeStatus(description: NodeDescription, before: V1NodeStatus, nowText: string, problems: NodeProblems = []): V1NodeStatus {
  const { config: configBefore, ...previous } = before
  const config = description.config === undefined ? configBefore : (description.config ?? undefined)
  const { name, hostname = name, info, port, images, volumesInUse, features, runtimeHandlers, declaredFeatures } = description
  const { machineId, systemUuid = machineId, bootId = machineId, swapBytes, ...system } = info
  return {
    ...previous,
    // Resources that others have announced on the node stay.
    capacity: { ...extended(previous.capacity), ...description.capacity },
    allocatable: { ...extended(previous.allocatable), ...description.allocatable },
    conditions: conditionsAfter(previous, nowText, problems, description),
    addresses: knownAddresses(description, previous, hostname),
    ...defined({ daemonEndpoints: port === undefined ? undefined : { kubeletEndpoint: { Port: port } } }),
    nodeInfo: {
      ...{ machineID: machineId, systemUUID: systemUuid, bootID: bootId, kubeProxyVersion: '', ...system },
      ...defined({ swap: swapBytes ? { capacity: swapBytes } : undefined }),
    },
    ...defined({
      volumesInUse: volumesInUse && [...volumesInUse],
      images: images && [...images],
      config,
      features,
      runtimeHandlers: runtimeHandlers && [...runtimeHandlers],
      declaredFeatures: declaredFeatures && [...declaredFeatures],
    }),
  }
}

/** What a cloud has said of them stays. */
function knownAddresses({ addresses, cloud }: NodeDescription, previous: V1NodeStatus, hostname: string): V1NodeAddress[] {
  const own = { type: 'Hostname', address: hostname }
  if (cloud === undefined) return [...addresses.map((address) => ({ type: 'InternalIP', address })), own]
  const present = previous.addresses ?? []
  return present.length > 0 ? present : [...cloud.addresses.map((address) => ({ type: 'InternalIP', address })), own]
}

const extended = (resources: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(resources).filter(([name]) => name.includes('/')))

/** Of each condition, what is said where it holds and where it does not. */
const pressures: Readonly<Record<PressureCondition, Record<'True' | 'False', { reason: string; message: string }>>> = {
  MemoryPressure: {
    True: { reason: 'KubeletHasInsufficientMemory', message: 'kubelet has insufficient memory available' },
    False: { reason: 'KubeletHasSufficientMemory', message: 'kubelet has sufficient memory available' },
  },
  DiskPressure: {
    True: { reason: 'KubeletHasDiskPressure', message: 'kubelet has disk pressure' },
    False: { reason: 'KubeletHasNoDiskPressure', message: 'kubelet has no disk pressure' },
  },
  PIDPressure: {
    True: { reason: 'KubeletHasInsufficientPID', message: 'kubelet has insufficient PID available' },
    False: { reason: 'KubeletHasSufficientPID', message: 'kubelet has sufficient PID available' },
  },
}

function conditionsAfter(
  { conditions = [] }: V1NodeStatus,
  nowText: string,
  problems: NodeProblems,
  { pressure = [], problemConditions = [] }: NodeDescription,
): V1NodeCondition[] {
  const wellBeing = Object.entries(pressures).map(([type, words]) => {
    const status = pressure.includes(type as PressureCondition) ? 'True' : 'False'
    return { type, status, ...words[status] }
  })
  const ready =
    problems.length === 0
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
      : {
          type: 'Ready',
          status: 'False',
          reason: 'KubeletNotReady',
          message: problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`,
        }
  // Ready last, as readers of old expect it.
  const own = [...problemConditions, ...wellBeing, ready].map((condition) => {
    const before = findCondition(conditions, condition.type)
    return { ...condition, lastHeartbeatTime: nowText, lastTransitionTime: transitionTime(before, condition.status, nowText) }
  }) as V1NodeCondition[]
  const ownTypes = new Set(own.map(({ type }) => type))
  return [...conditions.filter(({ type }) => !ownTypes.has(type)), ...own]
}

/** Everything but the time of the report. */
export const withoutHeartbeats = ({ conditions = [], ...status }: V1NodeStatus) => ({
  ...status,
  conditions: conditions.map(({ lastHeartbeatTime: _, ...condition }) => condition),
})
