/** What a node says of itself. */

import type {
  V1ContainerImage,
  V1Node,
  V1NodeCondition,
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
}

/** What pods may ask of every node this program runs, by the names under which nodes declare it. */
export const agentFeatures: readonly string[] = [
  'ExtendWebSocketsToKubelet',
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
}: NodeDescription): V1Node {
  const { operatingSystem, architecture } = info
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
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true', ...annotations },
    },
    spec: { ...(taints.length > 0 ? { taints: [...taints] } : {}), ...omitEmpty({ providerID: providerId }) },
  }
}

export function nodeStatus(
  description: NodeDescription,
  previous: V1NodeStatus,
  nowText: string,
  problems: NodeProblems = [],
): V1NodeStatus {
  const { name, hostname = name, addresses, info, port, images, volumesInUse, features, runtimeHandlers, declaredFeatures } = description
  const { machineId, systemUuid = machineId, bootId = machineId, swapBytes, ...system } = info
  return {
    ...previous,
    // Resources that others have announced on the node stay.
    capacity: { ...extended(previous.capacity), ...description.capacity },
    allocatable: { ...extended(previous.allocatable), ...description.allocatable },
    conditions: [...foreignConditions(previous), ...ownConditions(previous, nowText, problems, description.pressure ?? [])],
    addresses: [...addresses.map((address) => ({ type: 'InternalIP', address })), { type: 'Hostname', address: hostname }],
    ...(port === undefined ? {} : { daemonEndpoints: { kubeletEndpoint: { Port: port } } }),
    nodeInfo: {
      ...{ machineID: machineId, systemUUID: systemUuid, bootID: bootId, kubeProxyVersion: '', ...system },
      ...(swapBytes ? { swap: { capacity: swapBytes } } : {}),
    },
    ...defined({
      volumesInUse: volumesInUse && [...volumesInUse],
      images: images && [...images],
      features,
      runtimeHandlers: runtimeHandlers && [...runtimeHandlers],
      declaredFeatures: declaredFeatures && [...declaredFeatures],
    }),
  }
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

function ownConditions(
  { conditions = [] }: V1NodeStatus,
  nowText: string,
  problems: NodeProblems,
  pressure: readonly string[],
): V1NodeCondition[] {
  const wellBeing = Object.entries(pressures).map(([type, words]) => {
    const status = pressure.includes(type) ? 'True' : 'False'
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
  return [...wellBeing, ready].map((verdict) => {
    const before = findCondition(conditions, verdict.type)
    return { ...verdict, lastHeartbeatTime: nowText, lastTransitionTime: transitionTime(before, verdict.status, nowText) }
  }) as V1NodeCondition[]
}

/** Everything but the time of the report. */
export const withoutHeartbeats = ({ conditions = [], ...status }: V1NodeStatus) => ({
  ...status,
  conditions: conditions.map(({ lastHeartbeatTime: _, ...condition }) => condition),
})

function foreignConditions({ conditions = [] }: V1NodeStatus): V1NodeCondition[] {
  return conditions.filter(({ type }) => type !== 'Ready' && !(type in pressures))
}
