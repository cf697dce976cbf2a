import type { V1PodCondition } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { Victims } from '#scheduler/extender/extender.ts'
import { on, when } from '#scheduler/framework/cluster-event.ts'
import type { Cycle } from '#scheduler/framework/cycle.ts'
import { Diagnosis, fitMessage } from '#scheduler/framework/fit-error.ts'
import { defineSchedulerPlugin, type PostFilterAnswer } from '#scheduler/framework/plugin.ts'
import type { PluginHandle } from '#scheduler/framework/plugin-handle.ts'
import { failed, type Status, unresolvable, unschedulable } from '#scheduler/framework/status.ts'
import { cheapestNode, pickVictims } from '#scheduler/plugins/pick-victims.ts'

export type DefaultPreemptionArgs = { minCandidateNodesPercentage?: number; minCandidateNodesAbsolute?: number }

const unhelpful = unresolvable('Preemption is not helpful for scheduling')

/** Makes room for a pod by deleting less important ones, on the node where that hurts least. */
export function defaultPreemption(args: DefaultPreemptionArgs, handle: PluginHandle) {
  const percentage = args.minCandidateNodesPercentage ?? 10
  const absolute = args.minCandidateNodesAbsolute ?? 100
  /** Pods whose victims are being told to go. */
  const preempting = new Set<string>()
  const { cache, objects, client, metrics, logger, random } = handle

  return defineSchedulerPlugin({
    name: 'DefaultPreemption',
    retryOn: [when(on.pod.deleted, () => false)],

    preEnqueue: ({ uid }) => (preempting.has(uid) ? unresolvable('waiting for the preemption for this pod to be finished') : undefined),

    async postFilter(pod, diagnosis, cycle): Promise<PostFilterAnswer> {
      metrics.preemptionAttempts.inc()
      const answer = await preempt(pod, diagnosis, cycle)
      if (answer.status === undefined) return answer
      return { ...answer, status: { ...answer.status, reasons: [`preemption: ${answer.status.reasons.join(', ')}`] } }
    },
  })

  async function preempt(pod: PodInfo, diagnosis: Diagnosis, cycle: Cycle): Promise<PostFilterAnswer> {
    const ineligible = whyNot(pod, diagnosis)
    if (ineligible !== undefined) return { nominatedNode: undefined, status: unschedulable(ineligible) }
    const { candidates, statuses } = findCandidates(diagnosis, cycle)
    if (candidates.size === 0) {
      const why = new Diagnosis()
      for (const [nodeName, status] of statuses) why.nodeStatuses.set(nodeName, status)
      why.absentStatus = unhelpful
      return { nominatedNode: '', status: unschedulable(fitMessage(cache.nodes.length, why)) }
    }
    let left: ReadonlyMap<string, Victims>
    try {
      left = handle.extenders.length === 0 ? candidates : await askExtenders(pod, candidates)
    } catch (error) {
      return { nominatedNode: undefined, status: failed(error) }
    }
    const nodeName = cheapestNode(left)
    const victims = left.get(nodeName ?? '')
    if (nodeName === undefined || victims === undefined)
      return { nominatedNode: undefined, status: unschedulable('no candidate node for preemption') }
    metrics.preemptionVictims.observe(victims.pods.length)
    void evict(pod, nodeName, victims)
    return { nominatedNode: nodeName, status: undefined }
  }

  function whyNot({ pod, priority }: PodInfo, diagnosis: Diagnosis): string | undefined {
    if (pod.spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.'
    const nominated = pod.status?.nominatedNodeName
    if (!nominated || diagnosis.statusOf(nominated)?.code === 'UnschedulableAndUnresolvable') return undefined
    const isLeaving = (other: PodInfo) => other.priority < priority && isBeingPreempted(other)
    return cache.node(nominated)?.pods.some(isLeaving) ? 'not eligible due to a terminating pod on the nominated node.' : undefined
  }

  function findCandidates(diagnosis: Diagnosis, cycle: Cycle): { candidates: Map<string, Victims>; statuses: Map<string, Status> } {
    const nodes = cache.nodes.filter(({ name }) => diagnosis.statusOf(name)?.code === 'Unschedulable')
    const candidates = new Map<string, Victims>()
    const statuses = new Map<string, Status>()
    if (nodes.length === 0) return { candidates, statuses }
    const wanted = Math.min(Math.max(Math.trunc((nodes.length * percentage) / 100), absolute), nodes.length)
    const offset = random.int(nodes.length)
    const budgets = [...objects.of('PodDisruptionBudget').values()]
    let isHarmless = false
    const profile = handle.profile()
    for (let index = 0; index < nodes.length; index++) {
      const node = nodes[(offset + index) % nodes.length]
      if (node === undefined) continue
      const victims = pickVictims(profile, cycle, node, budgets)
      if ('refused' in victims) statuses.set(node.name, victims.refused)
      else if (victims.pods.length === 0)
        statuses.set(node.name, failed(new Error(`expected at least one victim pod on node "${node.name}"`)))
      else {
        candidates.set(node.name, victims)
        isHarmless ||= victims.budgetViolations === 0
        if (isHarmless && candidates.size >= wanted) break
      }
    }
    return { candidates, statuses }
  }

  async function askExtenders(pod: PodInfo, candidates: ReadonlyMap<string, Victims>): Promise<ReadonlyMap<string, Victims>> {
    let left = candidates
    for (const extender of handle.extenders) {
      if (!extender.preempts || !extender.isInterested(pod) || left.size === 0) continue
      try {
        left = await extender.processPreemption(pod, left)
      } catch (error) {
        if (!extender.isIgnorable) throw error
        logger.info('scheduler extender failed, ignoring it', { extender: extender.name, error: String(error) })
      }
    }
    return left
  }

  /** Runs on its own; until it has ended the pod is not tried again, lest it takes a second set of victims. */
  async function evict(preemptor: PodInfo, nodeName: string, victims: Victims): Promise<void> {
    const toDelete = victims.pods.filter(({ isTerminating }) => !isTerminating)
    if (toDelete.length === 0) return
    preempting.add(preemptor.uid)
    const startMs = handle.clock.monotonic()
    let result = 'success'
    try {
      await withdrawLesserNominations(preemptor, nodeName)
      await Promise.all(toDelete.map((victim) => evictOne(preemptor, nodeName, victim)))
      preempting.delete(preemptor.uid)
      handle.reconsider(preemptor.uid)
    } catch (error) {
      result = 'error'
      logger.error('preemption failed', { pod: `${preemptor.namespace}/${preemptor.name}`, node: nodeName, error: String(error) })
      preempting.delete(preemptor.uid)
      handle.activate([preemptor.uid])
    }
    metrics.preemptionRuns.inc({ result })
    metrics.preemptionDuration.observe((handle.clock.monotonic() - startMs) / 1000, { result })
  }

  async function evictOne(preemptor: PodInfo, nodeName: string, { pod }: PodInfo): Promise<void> {
    const condition: V1PodCondition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'PreemptionByScheduler',
      message: `${preemptor.pod.spec.schedulerName ?? ''}: preempting to accommodate a higher priority pod`,
    }
    try {
      await client.patchPodStatus(pod, { condition })
      await client.deletePod(pod)
    } catch (error) {
      if (client.isNotFound(error)) return
      throw error
    }
    client.recordEvent({
      regarding: pod,
      related: preemptor.pod,
      type: 'Normal',
      reason: 'Preempted',
      action: 'Preempting',
      note: `Preempted by pod ${preemptor.uid} on node ${nodeName}`,
      reportingController: handle.profile().schedulerName,
    })
  }

  /** They were promised room that goes to somebody more important now. */
  async function withdrawLesserNominations(preemptor: PodInfo, nodeName: string): Promise<void> {
    const lesser = [...handle.nominator.on(nodeName)].filter(({ priority }) => priority < preemptor.priority)
    for (const info of lesser) handle.nominator.withdraw(info.uid)
    await Promise.all(lesser.map(({ pod }) => client.patchPodStatus(pod, { nominatedNodeName: '' })))
    handle.activate(lesser.map(({ uid }) => uid))
  }
}

function isBeingPreempted({ pod, isTerminating }: PodInfo): boolean {
  if (!isTerminating) return false
  const condition = findCondition(pod.status?.conditions, 'DisruptionTarget')
  return condition?.status === 'True' && condition.reason === 'PreemptionByScheduler'
}
