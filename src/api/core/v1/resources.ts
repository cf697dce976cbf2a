/** What pods ask for: sums over containers, pod level resources, and the quality of service that follows. */

import { effectivePodSpec } from '#api/core/v1/effective-pod-spec.ts'
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { ResourceList } from '#api/core/v1/quantities.ts'
import { isPodLevelResource } from '#api/core/v1/resource-names.ts'
import type { V1Container, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { parseQuantity, type Quantity } from '#api/meta/quantity.ts'

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort'

/** By resource name. */
export type Quantities = Record<string, Quantity>

/**
 * What the containers of a pod need together. Regular containers and sidecars run at the same time; before them each init
 * container runs beside the sidecars that were started earlier.
 */
export function sumOverContainers(spec: V1PodSpec, list: 'requests' | 'limits'): Quantities {
  const together: Quantities = {}
  for (const container of spec.containers ?? []) add(together, container.resources?.[list])
  const sidecars: Quantities = {}
  const initPeak: Quantities = {}
  for (const container of spec.initContainers ?? []) {
    const own = container.resources?.[list]
    if (isSidecar(container)) {
      add(together, own)
      add(sidecars, own)
      raise(initPeak, sidecars)
    } else {
      const besideSidecars = { ...sidecars }
      add(besideSidecars, own)
      raise(initPeak, besideSidecars)
    }
  }
  raise(together, initPeak)
  return together
}

function add(sum: Quantities, list: ResourceList | undefined): void {
  for (const name in list) {
    const quantity = parseQuantity(list[name] ?? '0')
    const before = sum[name]
    sum[name] = before === undefined ? quantity : before.add(quantity)
  }
}

function raise(peak: Quantities, other: Quantities): void {
  for (const name in other) {
    const quantity = other[name] as Quantity
    const before = peak[name]
    if (before === undefined || quantity.compare(before) > 0) peak[name] = quantity
  }
}

/** What the scheduler must find a place for: the containers' needs, or the pod's own where given, and the overhead. */
export function podRequests(spec: V1PodSpec): Quantities {
  const requests = sumOverContainers(spec, 'requests')
  replaceByPodLevel(requests, spec.resources?.requests)
  add(requests, spec.overhead)
  return requests
}

/** What a bound pod takes from its node while it may be in the middle of a resize. */
export function effectivePodRequests(pod: V1Pod): Quantities {
  return pod.spec === undefined ? {} : podRequests(effectivePodSpec(pod))
}

/** What the pod may use at most; overhead adds only to what is limited at all. */
export function podLimits(spec: V1PodSpec): Quantities {
  const limits = sumOverContainers(spec, 'limits')
  replaceByPodLevel(limits, spec.resources?.limits)
  for (const [name, overhead] of Object.entries(spec.overhead ?? {})) {
    const limit = limits[name]
    if (limit !== undefined && !limit.isZero) limits[name] = limit.add(parseQuantity(overhead))
  }
  return limits
}

function replaceByPodLevel(sum: Quantities, list: ResourceList | undefined): void {
  for (const [name, quantity] of Object.entries(list ?? {})) {
    if (isPodLevelResource(name)) sum[name] = parseQuantity(quantity)
  }
}

/** The class that was settled when the pod was made; computed for pods that are not stored yet. */
export function podQosClass(pod: V1Pod): QosClass {
  return (pod.status?.qosClass as QosClass | undefined) || computeQosClass(pod.spec)
}

const qosResources = ['cpu', 'memory'] as const

export function computeQosClass(spec: V1PodSpec | undefined): QosClass {
  if (spec === undefined) return 'BestEffort'
  const requests: Quantities = {}
  const limits: Quantities = {}
  let isGuaranteed = true
  if (spec.resources) {
    addPositive(requests, spec.resources.requests)
    addPositive(limits, spec.resources.limits)
    if (Object.keys(spec.resources.limits ?? {}).length > 0 && !limitsAll(spec.resources.limits)) isGuaranteed = false
  } else {
    for (const list of [spec.containers, spec.initContainers]) {
      for (const { resources } of list ?? ([] as V1Container[])) {
        addPositive(requests, resources?.requests)
        addPositive(limits, resources?.limits)
        if (!limitsAll(resources?.limits)) isGuaranteed = false
      }
    }
  }
  const requested = Object.keys(requests)
  const limited = Object.keys(limits)
  if (requested.length === 0 && limited.length === 0) return 'BestEffort'
  if (!isGuaranteed || requested.length !== limited.length) return 'Burstable'
  const isCovered = (name: string) => limits[name]?.compare(requests[name] as Quantity) === 0
  return requested.every(isCovered) ? 'Guaranteed' : 'Burstable'
}

function addPositive(sum: Quantities, list: ResourceList | undefined): void {
  if (list === undefined) return
  for (const name of qosResources) {
    const text = list[name]
    if (text === undefined) continue
    const quantity = parseQuantity(text)
    if (quantity.sign <= 0) continue
    const before = sum[name]
    sum[name] = before === undefined ? quantity : quantity.add(before)
  }
}

function limitsAll(limits: ResourceList | undefined): boolean {
  return limits !== undefined && qosResources.every((name) => limits[name] !== undefined && parseQuantity(limits[name]).sign > 0)
}
