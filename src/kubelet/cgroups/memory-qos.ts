/** Memory kept for those who asked for it, and a brake before the limit: the feature MemoryQoS, with cgroup v2. */
import { podQosClass, podRequests } from '#api/core/v1/resources.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

export type MemoryQos = {
  /** Between what a container asks for and what it may have, where the kernel begins to slow it down. */
  throttlingFactor: number
  /** Guaranteed pods keep what they ask for whatever happens, burstable ones as long as there is something else to take. */
  isTiered: boolean
  /** What containers without a limit may have. */
  allocatableBytes: number
}

const pageBytes = 4096

/** Undefined where the feature is off, or the kernel has no words for it. */
export function memoryQosOf(configuration: KubeletConfiguration, version: 1 | 2, memoryBytes: number): MemoryQos | undefined {
  const { featureGates, memoryThrottlingFactor, memoryReservationPolicy, systemReserved, kubeReserved, evictionHard } = configuration
  if (!featureGates['MemoryQoS'] || version !== 2) return undefined
  const threshold = evictionHard['memory.available'] ?? '0'
  const kept = threshold.endsWith('%') ? (memoryBytes * Number.parseFloat(threshold)) / 100 : wholeValueOf(threshold)
  const reserved = wholeValueOf(systemReserved['memory']) + wholeValueOf(kubeReserved['memory'])
  return {
    throttlingFactor: memoryThrottlingFactor,
    isTiered: memoryReservationPolicy === 'TieredReservation',
    allocatableBytes: Math.max(0, memoryBytes - reserved - kept),
  }
}

/** What the runtime writes into files of the container's group. */
export function containerMemoryQos(pod: V1Pod, { resources }: V1Container, qos: MemoryQos): Record<string, string> {
  const requestBytes = wholeValueOf(resources?.requests?.['memory'])
  const limitBytes = wholeValueOf(resources?.limits?.['memory'])
  const kept = podQosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low'
  const reservation: Record<string, string> =
    requestBytes > 0 && qos.isTiered ? { [kept]: String(requestBytes) } : { 'memory.min': '0', 'memory.low': '0' }
  // One that has asked for all it may have cannot be slowed down before it gets there; who asks for nothing is not slowed down at all.
  if (requestBytes === limitBytes) return reservation
  const mostBytes = limitBytes || qos.allocatableBytes
  const highBytes = Math.floor((requestBytes + (mostBytes - requestBytes) * qos.throttlingFactor) / pageBytes) * pageBytes
  return highBytes > requestBytes && highBytes > 0 ? { ...reservation, 'memory.high': String(highBytes) } : reservation
}

/** What the kernel keeps for the pod as a whole: that of its containers counts only as far as that of the groups around it. */
export function podReservation(pod: V1Pod, { isTiered }: Pick<MemoryQos, 'isTiered'>): { memoryMinBytes: number; memoryLowBytes: number } {
  const bytes = isTiered ? (podRequests(pod.spec)['memory']?.value() ?? 0) : 0
  const isGuaranteed = podQosClass(pod) === 'Guaranteed'
  return { memoryMinBytes: isGuaranteed ? bytes : 0, memoryLowBytes: isGuaranteed ? 0 : bytes }
}
