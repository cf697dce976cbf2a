/** Which pods a daemon set makes and ends: a function of what there is. */

import type { V1DaemonSet } from '#api/apps/v1/types.gen.ts'
import { isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { scaledValue } from '#api/meta/int-or-string.ts'
import { append } from '#base/append.ts'
import { isUpdated, placeOn } from '#controllers/daemonset/daemon-pods.ts'
import { byAge, createdMs, finishedSinceMs, isAvailable, isDeleting } from '#controllers/workload/pods.ts'

export type DaemonView = {
  daemonSet: V1DaemonSet
  nodes: readonly V1Node[]
  podsByNode: ReadonlyMap<string, readonly V1Pod[]>
  hash: string
  nowMs: number
}

export type DaemonPlan = {
  createOn: string[]
  remove: V1Pod[]
  /** Pods that ended by themselves, which is told in an event. */
  failed: V1Pod[]
  succeeded: V1Pod[]
  /** A failed pod may be replaced only after this time. */
  waitMs: number | undefined
}

const firstBackoffMs = 1000

const maxSurge = (daemonSet: V1DaemonSet, desired: number): number =>
  daemonSet.spec?.updateStrategy?.type === 'RollingUpdate'
    ? scaledValue(daemonSet.spec.updateStrategy.rollingUpdate?.maxSurge ?? 0, desired, 'up')
    : 0

/** One pod on each node that should have one, and none elsewhere. */
export function planPlacement({ daemonSet, nodes, podsByNode, hash, nowMs }: DaemonView): DaemonPlan {
  const plan: DaemonPlan = { createOn: [], remove: [], failed: [], succeeded: [], waitMs: undefined }
  const surges = maxSurge(daemonSet, nodes.length) > 0
  const known = new Set(nodes.map(({ metadata }) => metadata.name ?? ''))
  for (const [name, pods] of podsByNode)
    if (!known.has(name))
      append(
        plan.remove,
        pods.filter((pod) => !isDeleting(pod) && !pod.spec.nodeName),
      )
  for (const node of nodes) {
    const name = node.metadata.name ?? ''
    const pods = podsByNode.get(name) ?? []
    const { shouldRun, mayStay } = placeOn(daemonSet, node)
    if (!mayStay) {
      append(
        plan.remove,
        pods.filter((pod) => !isDeleting(pod)),
      )
      continue
    }
    if (pods.length === 0) {
      if (shouldRun) plan.createOn.push(name)
      continue
    }
    const running: V1Pod[] = []
    for (const pod of pods.filter((each) => !isDeleting(each))) {
      const phase = pod.status?.phase
      if (phase === 'Succeeded') plan.succeeded.push(pod)
      else if (phase !== 'Failed') running.push(pod)
      else {
        // Kubelets that refuse a pod would otherwise be asked again at once, for ever.
        const leftMs = finishedSinceMs(pod) + Math.max(firstBackoffMs, finishedSinceMs(pod) - createdMs(pod)) - nowMs
        if (leftMs <= 0) plan.failed.push(pod)
        else plan.waitMs = Math.min(plan.waitMs ?? leftMs, leftMs)
      }
    }
    running.sort(byAge)
    if (!surges) append(plan.remove, running.slice(1))
    else if (running.length === 0 && shouldRun && !pods.some(({ status }) => status?.phase === 'Failed')) plan.createOn.push(name)
    else append(plan.remove, surplusWhileSurging(running, { daemonSet, hash, nowMs }))
  }
  return plan
}

/** An old pod and a new one may be there together, as long as the old one works and the new one does not yet. */
function surplusWhileSurging(
  running: readonly V1Pod[],
  { daemonSet, hash, nowMs }: Pick<DaemonView, 'daemonSet' | 'hash' | 'nowMs'>,
): V1Pod[] {
  if (running.length <= 1) return []
  const [newest, ...moreNew] = running.filter((pod) => isUpdated(pod, hash, daemonSet))
  const [oldest, ...moreOld] = running.filter((pod) => !isUpdated(pod, hash, daemonSet))
  const surplus = [...moreNew, ...moreOld]
  if (newest !== undefined && oldest !== undefined) {
    if (!isPodReady(oldest) || isAvailable(newest, daemonSet.spec?.minReadySeconds ?? 0, nowMs)) surplus.push(oldest)
  }
  return surplus
}

/** What a rolling update may do now, after placement is settled. */
export function planRoll(view: DaemonView): { createOn: string[]; remove: V1Pod[] } {
  const { daemonSet, nodes, podsByNode, hash, nowMs } = view
  const desired = nodes.filter((node) => placeOn(daemonSet, node).shouldRun).length
  const surge = maxSurge(daemonSet, desired)
  const allowed = scaledValue(daemonSet.spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? 0, desired, 'up')
  // Neither would mean that nothing could ever be replaced.
  const maxUnavailable = surge === 0 && allowed === 0 ? 1 : allowed
  const isGood = (pod: V1Pod) => isAvailable(pod, daemonSet.spec?.minReadySeconds ?? 0, nowMs)
  const entries = nodes.map((node) => {
    const name = node.metadata.name ?? ''
    const pods = (podsByNode.get(name) ?? []).filter((pod) => !isDeleting(pod))
    return {
      name,
      shouldRun: placeOn(daemonSet, node).shouldRun,
      hasAny: (podsByNode.get(name) ?? []).length > 0,
      fresh: pods.filter((pod) => isUpdated(pod, hash, daemonSet)),
      old: pods.filter((pod) => !isUpdated(pod, hash, daemonSet)),
    }
  })
  if (surge > 0) return planSurge(entries, surge, isGood)
  let unavailable = 0
  const broken: V1Pod[] = []
  const candidates: V1Pod[] = []
  for (const { hasAny, fresh, old } of entries) {
    if (!hasAny) continue
    const [newPod] = fresh
    const [oldPod] = old
    if (fresh.length > 1 || old.length > 1 || (newPod === undefined) === (oldPod === undefined)) unavailable++
    else if (newPod !== undefined) unavailable += isGood(newPod) ? 0 : 1
    else if (oldPod !== undefined && !isGood(oldPod)) {
      broken.push(oldPod)
      unavailable++
    } else if (oldPod !== undefined) candidates.push(oldPod)
  }
  return { createOn: [], remove: [...broken, ...candidates.slice(0, Math.max(0, maxUnavailable - unavailable))] }
}

type Entry = { name: string; shouldRun: boolean; fresh: readonly V1Pod[]; old: readonly V1Pod[] }

function planSurge(entries: readonly Entry[], surge: number, isGood: (pod: V1Pod) => boolean): { createOn: string[]; remove: V1Pod[] } {
  const remove: V1Pod[] = []
  const atOnce: string[] = []
  const candidates: string[] = []
  let surging = 0
  for (const { name, shouldRun, fresh, old } of entries) {
    const [newPod] = fresh
    const [oldPod] = old
    if (fresh.length > 1 || old.length > 1) surging++
    else if (oldPod === undefined) continue
    else if (newPod !== undefined) {
      if (isGood(newPod)) remove.push(oldPod)
      else surging++
    } else if (!shouldRun) remove.push(oldPod)
    else if (isGood(oldPod)) candidates.push(name)
    else atOnce.push(name)
  }
  return { createOn: [...atOnce, ...candidates.slice(0, Math.max(0, surge - surging))], remove }
}
