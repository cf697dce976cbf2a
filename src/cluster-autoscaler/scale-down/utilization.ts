import { isLongTerminating } from '#cluster-autoscaler/scale-down/long-terminating.ts'
import { isDaemonSetPod, isMirrorPod } from '#cluster-autoscaler/snapshot/pod-kinds.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'

export type Utilization = { readonly resource: string; readonly share: number; readonly cpu: number; readonly memory: number }

export type UtilizationOptions = {
  ignoresDaemonSets: boolean
  ignoresMirrors: boolean
  /** The resource by which nodes with a GPU are measured; then nothing else counts. */
  gpuResource?: string | undefined
  nowMs: number
}

/** The larger share of processor and memory that the node's pods ask for. */
export function utilizationOf(node: NodeInfo, options: UtilizationOptions): Utilization {
  const { gpuResource } = options
  if (gpuResource !== undefined) {
    const share = shareOf(node, options, (of) => of.scalars?.get(gpuResource) ?? 0)
    // A GPU that is not ready keeps no node.
    return { resource: gpuResource, share: share ?? 0, cpu: 0, memory: 0 }
  }
  const cpu = shareOf(node, options, ({ cpuMillis }) => cpuMillis) ?? 0
  const memory = shareOf(node, options, ({ memory: bytes }) => bytes) ?? 0
  return cpu > memory ? { resource: 'cpu', share: cpu, cpu, memory } : { resource: 'memory', share: memory, cpu, memory }
}

/** Undefined where the node has nothing of it. */
function shareOf(
  { allocatable, pods }: NodeInfo,
  { ignoresDaemonSets, ignoresMirrors, nowMs }: UtilizationOptions,
  amount: (of: PodInfo['requests']) => number,
): number | undefined {
  let available = amount(allocatable)
  if (available === 0) return undefined
  let asked = 0
  for (const { pod, requests } of pods) {
    if ((ignoresDaemonSets && isDaemonSetPod(pod)) || (ignoresMirrors && isMirrorPod(pod))) available -= amount(requests)
    else if (!isLongTerminating(pod, nowMs)) asked += amount(requests)
  }
  return asked / available
}
