/** How many replicas a measurement asks for. All values are in thousandths. */

import { isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import { isDeleting, podCondition } from '#controllers/workload/pods.ts'

export type PodMetric = { value: number; timestampMs: number; windowMs: number }
/** By the name of the pod. */
export type PodMetrics = ReadonlyMap<string, PodMetric>
/** By how much usage may differ from the target without a change. */
export type Tolerances = { down: number; up: number }
export type Readiness = { nowMs: number; cpuInitializationMs: number; initialReadinessDelayMs: number }

export type PodsAsked = {
  currentReplicas: number
  pods: readonly V1Pod[]
  metrics: PodMetrics
  /** Empty for measurements that are no resource. */
  resource: string
  tolerances: Tolerances
  readiness: Readiness
}

const isWithin = (ratio: number, { down, up }: Tolerances): boolean => 1 - down <= ratio && ratio <= 1 + up
const mostReplicas = 2 ** 31 - 1

/** For a share of what pods request, in percent. */
export function replicasForUtilization(asked: PodsAsked & { requests: ReadonlyMap<string, number>; targetPercent: number }): {
  replicas: number
  utilization: number
  average: number
} {
  const { requests, targetPercent } = asked
  const measure = (values: ReadonlyMap<string, number>) => {
    const known = [...values].filter(([pod]) => requests.has(pod))
    const total = known.reduce((sum, [, value]) => sum + value, 0)
    const requested = known.reduce((sum, [pod]) => sum + (requests.get(pod) ?? 0), 0)
    if (requested === 0) throw new Error('no metrics returned matched known pods')
    const utilization = Math.trunc((total * 100) / requested)
    return { ratio: utilization / targetPercent, utilization, average: Math.trunc(total / known.length) }
  }
  // Who does not tell is taken to use all it may, before anything is taken away.
  const fullUse = (pod: string) => Math.trunc(((requests.get(pod) ?? 0) * Math.max(100, targetPercent)) / 100)
  const { replicas, measured } = replicasFor(asked, measure, fullUse)
  return { replicas, utilization: measured.utilization, average: measured.average }
}

/** For an average over the pods. */
export function replicasForAverage(asked: PodsAsked & { target: number }): { replicas: number; average: number } {
  const measure = (values: ReadonlyMap<string, number>) => {
    const average = Math.trunc([...values.values()].reduce((sum, value) => sum + value, 0) / values.size)
    return { ratio: average / asked.target, average }
  }
  const { replicas, measured } = replicasFor(asked, measure, () => asked.target)
  return { replicas, average: measured.average }
}

function replicasFor<M extends { ratio: number }>(
  { currentReplicas, pods, metrics, resource, tolerances, readiness }: PodsAsked,
  measure: (values: ReadonlyMap<string, number>) => M,
  fullUse: (pod: string) => number,
): { replicas: number; measured: M } {
  if (pods.length === 0) throw new Error('no pods returned by selector while calculating replica count')
  const { readyCount, unready, missing, ignored } = groupPods(pods, metrics, resource, readiness)
  const values = new Map([...metrics].filter(([pod]) => !ignored.has(pod) && !unready.has(pod)).map(([pod, { value }]) => [pod, value]))
  if (values.size === 0) throw new Error('did not receive metrics for targeted pods (pods might be unready)')
  const measured = measure(values)
  const { ratio } = measured
  const countsUnready = unready.size > 0 && ratio > 1
  if (!countsUnready && missing.size === 0)
    return { replicas: isWithin(ratio, tolerances) ? currentReplicas : Math.ceil(ratio * readyCount), measured }
  for (const pod of missing) {
    if (ratio < 1) values.set(pod, fullUse(pod))
    else if (ratio > 1) values.set(pod, 0)
  }
  if (countsUnready) for (const pod of unready) values.set(pod, 0)
  const cautious = measure(values).ratio
  // What is assumed of some must not turn the direction, nor be what the change is about.
  const isTurned = (ratio < 1 && cautious > 1) || (ratio > 1 && cautious < 1)
  if (isWithin(cautious, tolerances) || isTurned) return { replicas: currentReplicas, measured }
  const replicas = Math.ceil(cautious * values.size)
  const isOtherWay = (cautious < 1 && replicas > currentReplicas) || (cautious > 1 && replicas < currentReplicas)
  return { replicas: isOtherWay ? currentReplicas : replicas, measured }
}

/** For one value that all replicas share. From none on, tolerance and ready pods do not count. */
export function replicasForTotal(asked: {
  currentReplicas: number
  pods: readonly V1Pod[]
  usage: number
  target: number
  tolerances: Tolerances
}): number {
  const { currentReplicas, pods, usage, target, tolerances } = asked
  const ratio = usage / target
  if (currentReplicas === 0) return Math.min(mostReplicas, Math.ceil(ratio))
  if (isWithin(ratio, tolerances)) return currentReplicas
  if (pods.length === 0) throw new Error('unable to calculate ready pods: no pods returned by selector while calculating replica count')
  const ready = pods.filter((pod) => pod.status?.phase === 'Running' && isPodReady(pod)).length
  return Math.min(mostReplicas, Math.ceil(ratio * ready))
}

/** For one value of which each replica takes a share. */
export function replicasForShare(asked: { statusReplicas: number; usage: number; target: number; tolerances: Tolerances }): {
  replicas: number
  average: number
} {
  const { statusReplicas, usage, target, tolerances } = asked
  const isEnough = isWithin(usage / (target * statusReplicas), tolerances)
  const replicas = isEnough ? statusReplicas : Math.min(mostReplicas, Math.ceil(usage / target))
  return { replicas, average: statusReplicas === 0 ? 0 : Math.ceil(usage / statusReplicas) }
}

type PodGroups = { readyCount: number; unready: Set<string>; missing: Set<string>; ignored: Set<string> }

function groupPods(pods: readonly V1Pod[], metrics: PodMetrics, resource: string, readiness: Readiness): PodGroups {
  const groups: PodGroups = { readyCount: 0, unready: new Set(), missing: new Set(), ignored: new Set() }
  for (const pod of pods) {
    const { name = '' } = pod.metadata
    const metric = metrics.get(name)
    if (isDeleting(pod) || pod.status?.phase === 'Failed') groups.ignored.add(name)
    else if (pod.status?.phase === 'Pending') groups.unready.add(name)
    else if (metric === undefined) groups.missing.add(name)
    else if (resource === 'cpu' && isStarting(pod, metric, readiness)) groups.unready.add(name)
    else groups.readyCount++
  }
  return groups
}

/** What a pod uses while it starts says nothing about what it will use. */
function isStarting(pod: V1Pod, metric: PodMetric, { nowMs, cpuInitializationMs, initialReadinessDelayMs }: Readiness): boolean {
  const condition = podCondition(pod, 'Ready')
  const started = pod.status?.startTime
  if (condition === undefined || !started) return true
  const startedMs = parseTime(started)
  const changedMs = condition.lastTransitionTime ? parseTime(condition.lastTransitionTime) : 0
  if (startedMs + cpuInitializationMs > nowMs) return condition.status === 'False' || metric.timestampMs < changedMs + metric.windowMs
  return condition.status === 'False' && startedMs + initialReadinessDelayMs > changedMs
}
