/** What a node says of itself. */
import type { V1Node, V1NodeCondition, V1NodeStatus, V1NodeSystemInfo, V1Taint } from '#api/core/v1/types.gen.ts'

export type NodeDescription = {
  name: string
  addresses: readonly string[]
  capacity: Record<string, string>
  /** Capacity less what the system keeps for itself. */
  allocatable: Record<string, string>
  info: Pick<V1NodeSystemInfo, 'kernelVersion' | 'osImage' | 'containerRuntimeVersion' | 'kubeletVersion'> & {
    machineId: string
    operatingSystem: string
    architecture: string
  }
  labels?: Record<string, string>
  taints?: readonly V1Taint[]
  /** Where its own server listens; absent when it has none. */
  port?: number
}

export function nodeObject({ name, info, labels = {}, taints = [] }: NodeDescription): V1Node {
  const { operatingSystem, architecture } = info
  return {
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': operatingSystem,
        'kubernetes.io/arch': architecture,
        'beta.kubernetes.io/os': operatingSystem,
        'beta.kubernetes.io/arch': architecture,
        ...labels,
      },
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    },
    spec: taints.length > 0 ? { taints: [...taints] } : {},
  }
}

export function nodeStatus(description: NodeDescription, previous: V1NodeStatus, nowText: string): V1NodeStatus {
  const { name, addresses, capacity, allocatable, info, port } = description
  const { machineId, ...system } = info
  return {
    ...previous,
    capacity,
    allocatable,
    conditions: [...foreignConditions(previous), ...healthyConditions(previous, nowText)],
    addresses: [...addresses.map((address) => ({ type: 'InternalIP', address })), { type: 'Hostname', address: name }],
    ...(port === undefined ? {} : { daemonEndpoints: { kubeletEndpoint: { Port: port } } }),
    nodeInfo: { machineID: machineId, systemUUID: machineId, bootID: machineId, kubeProxyVersion: '', ...system },
  }
}

const verdicts = [
  { type: 'MemoryPressure', status: 'False', reason: 'KubeletHasSufficientMemory', message: 'kubelet has sufficient memory available' },
  { type: 'DiskPressure', status: 'False', reason: 'KubeletHasNoDiskPressure', message: 'kubelet has no disk pressure' },
  { type: 'PIDPressure', status: 'False', reason: 'KubeletHasSufficientPID', message: 'kubelet has sufficient PID available' },
  // Last, as readers of old expect it.
  { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' },
] as const

function healthyConditions({ conditions = [] }: V1NodeStatus, nowText: string): V1NodeCondition[] {
  return verdicts.map((verdict) => {
    const before = conditions.find(({ type }) => type === verdict.type)
    const isSame = before?.status === verdict.status && before.lastTransitionTime
    return { ...verdict, lastHeartbeatTime: nowText, lastTransitionTime: isSame ? before.lastTransitionTime : nowText }
  }) as V1NodeCondition[]
}

function foreignConditions({ conditions = [] }: V1NodeStatus): V1NodeCondition[] {
  return conditions.filter(({ type }) => !verdicts.some((verdict) => verdict.type === type))
}
