import { Pod } from '#api/core/v1/kinds.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import type { AutoscalerMetrics } from '#cluster-autoscaler/metrics.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import type { NodeGroup } from '#cluster-autoscaler/provider/node-group.ts'
import { balancedIncreases, type Increase, increasesText } from '#cluster-autoscaler/scale-up/balance-groups.ts'
import { estimateNodes } from '#cluster-autoscaler/scale-up/estimate-nodes.ts'
import { chooseOption, type Expander, type ExpansionOption } from '#cluster-autoscaler/scale-up/expanders.ts'
import { type PodGroup, podGroups } from '#cluster-autoscaler/scale-up/pod-groups.ts'
import { areSimilar } from '#cluster-autoscaler/scale-up/similar-groups.ts'
import type { ClusterSnapshot } from '#cluster-autoscaler/snapshot/cluster-snapshot.ts'
import { nodeFromTemplate, type TemplateNode } from '#cluster-autoscaler/snapshot/template-nodes.ts'
import type { ClusterState, GroupState } from '#cluster-autoscaler/state/cluster-state.ts'
import type { ResourceLimits } from '#cluster-autoscaler/state/resource-limits.ts'
import type { StatusEvents } from '#cluster-autoscaler/state/status-events.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'

export type ScaleUpParts = {
  snapshot: ClusterSnapshot
  state: ClusterState
  options: AutoscalerOptions
  expanders: readonly Expander[]
  events: EventRecorder
  statusEvents: StatusEvents
  metrics: AutoscalerMetrics
  random: Random
  logger: Logger
}

/** What a round knows of the groups and of the room there is. */
export type RoundView = {
  readonly groups: readonly GroupState[]
  readonly templates: ReadonlyMap<string, TemplateNode>
  readonly zeroOrMax: ReadonlySet<string>
  readonly limits: ResourceLimits
  /** Upcoming ones included. */
  readonly nodeCount: number
}

export type ScaleUpResult = 'successful' | 'noOptions' | 'error'

/** Adds the nodes that pods without a node need: one group at a time, and those like it. */
export class ScaleUp {
  readonly #parts: ScaleUpParts

  constructor(parts: ScaleUpParts) {
    this.#parts = parts
  }

  async run(pods: readonly PodInfo[], view: RoundView): Promise<ScaleUpResult> {
    const { expanders, random, logger, options } = this.#parts
    const waiting = podGroups(pods)
    const skipped = new Map<string, string>()
    const usable = view.groups.filter((state) => {
      const reason = this.#skipReason(state, view)
      if (reason !== undefined) skipped.set(state.group.id, reason)
      return reason === undefined
    })
    const fitting = new Map(usable.map(({ group }) => [group.id, this.#podsThatFit(group, waiting, view)]))
    const found: ExpansionOption[] = []
    for (const state of usable) {
      const option = await this.#option(state, fitting.get(state.group.id) ?? [], view, this.#similar(state, usable, fitting, view))
      if (option !== undefined) found.push(option)
    }
    const best = await chooseOption(found, expanders, random)
    if (best === undefined) {
      this.#tellWhyNot(waiting, skipped)
      return 'noOptions'
    }
    const capped = this.#capped(best, view)
    if (capped <= 0) {
      this.#tellWhyNot(waiting, skipped)
      return 'noOptions'
    }
    const chosen = usable.find(({ group }) => group.id === best.group.id) as GroupState
    const together = [chosen, ...this.#similar(chosen, usable, fitting, view)]
    const increases = balancedIncreases(
      together.map(({ group, targetSize }) => ({ group, currentSize: targetSize })),
      capped,
    )
    logger.info('scale-up', { plan: increasesText(increases), pods: best.pods.length, expander: options.expanders.join(',') })
    return (await this.#execute(increases, view, best.pods)) ? 'successful' : 'error'
  }

  /** Groups that have fewer nodes than they must, without any pod that asks. */
  async toMinSize(view: RoundView): Promise<void> {
    for (const state of view.groups) {
      const { group, targetSize } = state
      if (targetSize >= group.minSize || this.#skipReason(state, view) !== undefined) continue
      const template = view.templates.get(group.id)
      if (template === undefined) continue
      const count = Math.min(group.minSize - targetSize, view.limits.roomFor(template.node), this.#roomInCluster(view))
      if (count > 0) await this.#execute([{ group, currentSize: targetSize, newSize: targetSize + count }], view, [])
    }
  }

  #skipReason({ group, targetSize }: GroupState, { templates, limits, zeroOrMax, nodeCount }: RoundView): string | undefined {
    const { state, options } = this.#parts
    if (state.backoffOf(group.id) !== undefined) return 'in backoff after failed scale-up'
    if (!state.isGroupHealthy(group.id)) return 'not ready for scale-up'
    if (targetSize >= group.maxSize) return 'max node group size reached'
    const template = templates.get(group.id)
    if (template === undefined) return 'not ready for scale-up'
    const needed = zeroOrMax.has(group.id) ? group.maxSize - targetSize : 1
    if (needed > 1 && options.maxNodesTotal > 0 && nodeCount + needed > options.maxNodesTotal)
      return 'atomic scale-up exceeds cluster node count limit'
    if (limits.roomFor(template.node) < needed)
      return `exceeded quota: "cluster-wide", resources: ${limits.exceededBy(template.node).join(', ') || 'cpu, memory'}`
    return undefined
  }

  #podsThatFit({ id }: NodeGroup, waiting: readonly PodGroup[], { templates }: RoundView): PodGroup[] {
    const { snapshot } = this.#parts
    const template = templates.get(id)
    if (template === undefined) return []
    return snapshot.trial(() => {
      const name = `template-node-for-${id}`
      const { node, pods } = nodeFromTemplate(template, name)
      snapshot.addNode(node, pods)
      return waiting.filter((group) => {
        const [pod] = group.pods
        const refused = pod === undefined ? undefined : snapshot.refusal(pod, name)
        if (refused === undefined) group.isSchedulable = true
        else group.rejections.set(id, refused.reasons)
        return refused === undefined
      })
    })
  }

  async #option(
    { group, targetSize }: GroupState,
    pods: readonly PodGroup[],
    view: RoundView,
    similar: readonly GroupState[],
  ): Promise<ExpansionOption | undefined> {
    const template = view.templates.get(group.id)
    if (template === undefined || pods.length === 0) return undefined
    const room = [{ group, targetSize }, ...similar].reduce((sum, each) => sum + each.group.maxSize - each.targetSize, 0)
    const most = Math.min(this.#parts.options.maxNodesPerScaleUp, room, this.#roomInCluster(view))
    const estimate = await estimateNodes(this.#parts.snapshot, pods, template, most)
    if (estimate.nodeCount === 0) return undefined
    const nodeCount = view.zeroOrMax.has(group.id) ? group.maxSize - targetSize : estimate.nodeCount
    return { group, nodeCount, pods: estimate.pods, template: template.node }
  }

  #roomInCluster({ nodeCount }: RoundView): number {
    const { maxNodesTotal } = this.#parts.options
    return maxNodesTotal > 0 ? Math.max(0, maxNodesTotal - nodeCount) : Number.POSITIVE_INFINITY
  }

  #capped({ nodeCount, template }: ExpansionOption, view: RoundView): number {
    const { options, statusEvents } = this.#parts
    const room = this.#roomInCluster(view)
    if (room < nodeCount) statusEvents.warning('MaxNodesTotalReached', `Max total nodes in cluster reached: ${options.maxNodesTotal}`)
    return Math.min(nodeCount, room, view.limits.roomFor(template))
  }

  /** Groups among which new nodes are shared out: the same machines, and fit for the same pods. */
  #similar(
    { group }: GroupState,
    usable: readonly GroupState[],
    fitting: ReadonlyMap<string, readonly PodGroup[]>,
    { templates, zeroOrMax }: RoundView,
  ): GroupState[] {
    const { options } = this.#parts
    const template = templates.get(group.id)
    if (!options.balanceSimilarNodeGroups || template === undefined || zeroOrMax.has(group.id)) return []
    const wanted = fitting.get(group.id) ?? []
    return usable.filter((other) => {
      const { id } = other.group
      const otherTemplate = templates.get(id)
      if (id === group.id || otherTemplate === undefined || zeroOrMax.has(id)) return false
      const theirs = new Set(fitting.get(id))
      return wanted.every((pods) => theirs.has(pods)) && areSimilar(template, otherTemplate, options)
    })
  }

  async #execute(increases: readonly Increase[], view: RoundView, pods: readonly PodInfo[]): Promise<boolean> {
    const { state, statusEvents, metrics, logger, events } = this.#parts
    const done: Increase[] = []
    for (const increase of increases) {
      const { group, currentSize, newSize } = increase
      const by = newSize - currentSize
      statusEvents.normal(
        'ScaledUpGroup',
        `Scale-up: setting group ${group.id} size to ${newSize} instead of ${currentSize} (max: ${group.maxSize})`,
      )
      try {
        await group.increaseSize(by)
      } catch (error) {
        const message = `failed to increase node group size: ${errorMessage(error)}`
        logger.warn('scale-up failed', { nodeGroup: group.id, error: errorMessage(error) })
        statusEvents.warning('FailedToScaleUpGroup', `Scale-up failed for group ${group.id}: ${message}`)
        state.scaleUpFailed(group, message, by)
        continue
      }
      done.push(increase)
      const provisionMs = view.groups.find((each) => each.group.id === group.id)?.maxNodeProvisionMs ?? 0
      state.scaledUp(group, by, provisionMs)
      metrics.scaledUp.inc({ gpu_resource_name: '', gpu_name: '', dra_drivers: '' }, by)
      statusEvents.normal(
        'ScaledUpGroup',
        `Scale-up: group ${group.id} size set to ${newSize} instead of ${currentSize} (max: ${group.maxSize})`,
      )
    }
    if (done.length > 0)
      for (const { pod } of pods) events.normal(Pod, pod, 'TriggeredScaleUp', `pod triggered scale-up: ${increasesText(done)}`)
    return done.length > 0
  }

  tellAll(pods: readonly PodInfo[], why: string): void {
    for (const { pod } of pods) this.#parts.events.normal(Pod, pod, 'NotTriggerScaleUp', `pod didn't trigger scale-up: ${why}`)
  }

  #tellWhyNot(waiting: readonly PodGroup[], skipped: ReadonlyMap<string, string>): void {
    for (const { pods, rejections } of waiting) {
      const counts = new Map<string, number>()
      const count = (reason: string) => counts.set(reason, (counts.get(reason) ?? 0) + 1)
      for (const reasons of rejections.values()) for (const reason of reasons) count(reason)
      for (const reason of skipped.values()) count(reason)
      const text = [...counts].map(([reason, times]) => `${times} ${reason}`).join(', ')
      this.tellAll(pods, text)
    }
  }
}
