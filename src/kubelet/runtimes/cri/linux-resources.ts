/** What the kernel is told of a container's share of the node. */

import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import { podLimits, podQosClass, podRequests, sumOverContainers } from '#api/core/v1/resources.ts'
import type { V1Container, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { milliValueOf, wholeValueOf } from '#api/meta/quantity.ts'
import { smallest } from '#base/append.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { containerMemoryQos, type MemoryQos } from '#kubelet/cgroups/memory-qos.ts'
import type { LinuxResources } from '#wire/cri/cri-types.ts'

export type NodeCapacity = {
  memoryBytes: number
  /** Sizes the kernel knows, as it writes them: `2MB`, `1GB`. */
  hugePageSizes: readonly string[]
  swap?: SwapControl
  /** Burstable pods may swap, in proportion to what they ask for: so much all together. */
  limitedSwapBytes?: number
  /** Absent where memory is neither kept for containers nor slowed down. */
  memoryQos?: MemoryQos
  /** Containers may use processors that others leave idle, whatever their limit. */
  ignoresCpuLimits?: boolean
}

/** What the kernel limits: memory and swap together (cgroup v1), or swap alone (v2). */
export type SwapControl = 'memoryAndSwap' | 'swap'

const sharesPerCpu = 1024
const minShares = 2
const maxShares = 262_144
export const quotaPeriodMicros = 100_000
const minQuotaMicros = 1000

export function cpuShares(cpuMillis: number): number {
  // No request is the least the kernel allows.
  if (cpuMillis === 0) return minShares
  return Math.min(maxShares, Math.max(minShares, Math.floor((cpuMillis * sharesPerCpu) / 1000)))
}

/** 0 is no limit. */
export function cpuQuotaMicros(cpuMillis: number): number {
  if (cpuMillis === 0) return 0
  return Math.max(minQuotaMicros, Math.floor((cpuMillis * quotaPeriodMicros) / 1000))
}

type Amounts = { cpuRequestMillis: number | undefined; cpuLimitMillis: number; memoryLimitBytes: number }

function linuxResources({ cpuRequestMillis, cpuLimitMillis, memoryLimitBytes }: Amounts): LinuxResources {
  return {
    cpuShares: cpuShares(cpuRequestMillis ?? cpuLimitMillis),
    cpuQuota: cpuQuotaMicros(cpuLimitMillis),
    cpuPeriod: quotaPeriodMicros,
    memoryLimitInBytes: memoryLimitBytes,
  }
}

export function containerResources(pod: V1Pod, container: V1Container, capacity: NodeCapacity): LinuxResources {
  const { requests, limits } = container.resources ?? {}
  const podLevel = pod.spec.resources?.limits
  // Where only the pod as a whole is limited, no container of it can have more.
  const memoryLimitBytes = wholeValueOf(limits?.['memory']) || wholeValueOf(podLevel?.['memory'])
  const swap = swapOf(pod, container, capacity, memoryLimitBytes)
  const unified = { ...swap.unified, ...(capacity.memoryQos && containerMemoryQos(pod, container, capacity.memoryQos)) }
  return {
    ...linuxResources({
      cpuRequestMillis: requests?.['cpu'] === undefined ? undefined : milliValueOf(requests['cpu']),
      cpuLimitMillis: milliValueOf(limits?.['cpu']) || milliValueOf(podLevel?.['cpu']),
      memoryLimitBytes,
    }),
    ...(capacity.ignoresCpuLimits && { cpuQuota: 0 }),
    ...swap,
    ...omitEmpty({ unified }),
    oomScoreAdj: oomScoreAdjustment(pod, container, capacity.memoryBytes),
    hugepageLimits: hugePageLimits({ ...podLevel, ...limits }, capacity.hugePageSizes),
  }
}

/** Only where the kernel counts swap by itself, and for pods that neither asked for all they may have nor for nothing. */
function swapOf(pod: V1Pod, { resources }: V1Container, capacity: NodeCapacity, memoryLimitBytes: number): LinuxResources {
  const { swap, limitedSwapBytes = 0, memoryBytes } = capacity
  const requestBytes = wholeValueOf(resources?.requests?.['memory'])
  const isServed = podQosClass(pod) === 'Burstable' && (pod.spec.priority ?? 0) < systemCriticalPriority
  if (swap !== 'swap' || limitedSwapBytes === 0 || !isServed || requestBytes === 0 || requestBytes === memoryLimitBytes) {
    return noSwap(swap, memoryLimitBytes)
  }
  return { unified: { 'memory.swap.max': String(Math.floor((requestBytes / memoryBytes) * limitedSwapBytes)) } }
}

function noSwap(control: SwapControl | undefined, memoryLimitBytes: number): LinuxResources {
  if (control === 'memoryAndSwap') return { memorySwapLimitInBytes: memoryLimitBytes }
  return control === 'swap' ? { unified: { 'memory.swap.max': '0' } } : {}
}

/** What the pod needs beside its overhead, for runtimes that size the sandbox by it. */
export function sandboxResources(spec: V1PodSpec): { resources: LinuxResources; overhead: LinuxResources } {
  const { overhead, ...own } = spec
  const requests = podRequests(own)
  const limits = podLimits(own)
  return {
    resources: linuxResources({
      cpuRequestMillis: requests['cpu']?.milliValue(),
      cpuLimitMillis: limits['cpu']?.milliValue() ?? 0,
      memoryLimitBytes: limits['memory']?.value() ?? 0,
    }),
    overhead:
      overhead === undefined
        ? {}
        : linuxResources({
            cpuRequestMillis: milliValueOf(overhead['cpu']),
            cpuLimitMillis: milliValueOf(overhead['cpu']),
            memoryLimitBytes: wholeValueOf(overhead['memory']),
          }),
  }
}

/** Pages of every size are forbidden but for those asked for. */
function hugePageLimits(limits: Record<string, string>, sizes: readonly string[]): { pageSize: string; limit: number }[] {
  const asked = new Map<string, number>()
  for (const [name, amount] of Object.entries(limits)) {
    if (name.startsWith('hugepages-')) asked.set(pageSizeText(wholeValueOf(name.slice('hugepages-'.length))), wholeValueOf(amount))
  }
  return sizes.map((pageSize) => ({ pageSize, limit: asked.get(pageSize) ?? 0 }))
}

/** As the kernel writes them: the largest unit that leaves a whole number. */
function pageSizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value = Math.floor(value / 1024)
    unit++
  }
  return `${value}${units[unit]}`
}

const guaranteedScore = -997
const bestEffortScore = 1000
const nodeCriticalClass = 'system-node-critical'
const systemCriticalPriority = 2_000_000_000

/** The larger, the sooner the kernel kills it when memory is short: those who asked for much of it are spared longer. */
export function oomScoreAdjustment(pod: V1Pod, container: V1Container, memoryBytes: number): number {
  const { spec } = pod
  if (spec.priorityClassName === nodeCriticalClass && (spec.priority ?? 0) >= systemCriticalPriority) return guaranteedScore
  const qos = podQosClass(pod)
  if (qos === 'Guaranteed') return guaranteedScore
  if (qos === 'BestEffort') return bestEffortScore
  const unclaimed = unclaimedMemoryPerContainer(spec)
  const scoreOf = (requestBytes: number) => 1000 - Math.trunc((1000 * requestBytes) / memoryBytes)
  const requestOf = ({ resources }: V1Container) => wholeValueOf(resources?.requests?.['memory'])
  let score = scoreOf(requestOf(container) + unclaimed)
  if (isSidecar(container) && spec.initContainers?.some(({ name }) => name === container.name)) {
    // A sidecar shall not be killed before those it serves.
    score = Math.min(score, scoreOf(smallest(Number.POSITIVE_INFINITY, spec.containers.map(requestOf)) + unclaimed))
  }
  if (score < 1000 + guaranteedScore) return 1000 + guaranteedScore
  return score === bestEffortScore ? score - 1 : score
}

/** Memory that the pod asks for as a whole and its containers do not, in equal parts. */
function unclaimedMemoryPerContainer(spec: V1PodSpec): number {
  const podBytes = wholeValueOf(spec.resources?.requests?.['memory'])
  if (podBytes === 0) return 0
  const claimed = sumOverContainers(spec, 'requests')['memory']?.value() ?? 0
  return Math.trunc((podBytes - claimed) / (spec.containers.length + (spec.initContainers?.length ?? 0)))
}
