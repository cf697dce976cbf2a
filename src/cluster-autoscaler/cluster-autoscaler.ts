import type { V1DaemonSet } from '#api/apps/v1/types.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import type { AutoscalerMetrics } from '#cluster-autoscaler/metrics.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import type { GroupOptions, NodeGroupProvider } from '#cluster-autoscaler/provider/node-group.ts'
import { Actuator } from '#cluster-autoscaler/scale-down/actuator.ts'
import { removeTaint } from '#cluster-autoscaler/scale-down/node-taints.ts'
import { type Candidate, Planner } from '#cluster-autoscaler/scale-down/planner.ts'
import type { OwnerReplicas } from '#cluster-autoscaler/scale-down/pods-to-move.ts'
import { updateSoftTaints } from '#cluster-autoscaler/scale-down/soft-taints.ts'
import { expandersOf } from '#cluster-autoscaler/scale-up/expanders-of.ts'
import { areAllNew, unschedulablePods, withoutSchedulable, withoutYoung } from '#cluster-autoscaler/scale-up/pods-in-need.ts'
import { type RoundView, ScaleUp } from '#cluster-autoscaler/scale-up/scale-up.ts'
import type { ClusterSnapshot } from '#cluster-autoscaler/snapshot/cluster-snapshot.ts'
import { deletionCandidateTaint, hasTaint, toBeDeletedTaint } from '#cluster-autoscaler/snapshot/taints.ts'
import { nodeFromTemplate, type TemplateNode, TemplateNodes } from '#cluster-autoscaler/snapshot/template-nodes.ts'
import { ClusterState, type GroupState } from '#cluster-autoscaler/state/cluster-state.ts'
import { mendGroups } from '#cluster-autoscaler/state/mend-groups.ts'
import { reportFailure } from '#cluster-autoscaler/state/report-failure.ts'
import { ResourceLimits } from '#cluster-autoscaler/state/resource-limits.ts'
import { initializingStatus, StatusReport, writeStatus } from '#cluster-autoscaler/state/status-config-map.ts'
import { StatusEvents } from '#cluster-autoscaler/state/status-events.ts'
import { tellState } from '#cluster-autoscaler/state/tell-state.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'

export type ClusterAutoscalerParts = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  provider: NodeGroupProvider
  options: AutoscalerOptions
  snapshot: ClusterSnapshot
  daemonSets(): readonly V1DaemonSet[]
  replicasOf: OwnerReplicas
  events: EventRecorder
  metrics: AutoscalerMetrics
}

type Seen = { state: GroupState; options: GroupOptions }

/** Looks at the whole cluster every so often: adds nodes for pods that fit nowhere, and removes nodes that nobody needs. */
export class ClusterAutoscaler {
  readonly #parts: ClusterAutoscalerParts
  readonly #state: ClusterState
  readonly #templates = new TemplateNodes()
  readonly #scaleUp: ScaleUp
  readonly #planner: Planner
  readonly #actuator: Actuator
  readonly #statusEvents: StatusEvents
  readonly #report = new StatusReport()
  readonly #unremovableCounts = new Map<string, number>()
  #nodeCount = 0
  #hasCleanedUp = false
  #lastScaleUpMs: number
  #lastDeleteMs = Number.NEGATIVE_INFINITY
  #lastFailureMs = Number.NEGATIVE_INFINITY

  constructor(parts: ClusterAutoscalerParts) {
    this.#parts = parts
    const { options, snapshot, events, clock, logger, provider, metrics } = parts
    // As if nodes had been added just before: whoever starts anew does not know better.
    this.#lastScaleUpMs = clock.now()
    this.#statusEvents = new StatusEvents(events)
    const statusEvents = this.#statusEvents
    this.#state = new ClusterState(options, (failure) => reportFailure(failure, { statusEvents, metrics, logger }))
    const expanders = expandersOf({ ...parts, nodeCount: () => this.#nodeCount })
    this.#scaleUp = new ScaleUp({ ...parts, state: this.#state, statusEvents, expanders })
    const gpuResourceOf = (node: V1Node) => (provider.gpuLabel && node.metadata.labels?.[provider.gpuLabel] ? 'nvidia.com/gpu' : undefined)
    this.#planner = new Planner({ snapshot, options, replicasOf: parts.replicasOf, gpuResourceOf })
    const onFailure = () => {
      this.#lastFailureMs = clock.now()
    }
    this.#actuator = new Actuator({ ...parts, statusEvents, onFailure })
  }

  /** Rounds until the signal aborts; what a round could not do the next one may. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, options, logger, metrics } = this.#parts
    while (!signal.aborted) {
      const startMs = clock.monotonic()
      metrics.lastActivity.set(clock.now() / 1000, { activity: 'main' })
      try {
        await this.runOnce()
      } catch (error) {
        metrics.errors.inc({ type: 'internalError' })
        logger.warn('autoscaler round failed, retrying', { error: errorMessage(error) })
      }
      metrics.functionDuration.observe((clock.monotonic() - startMs) / 1000, { function: 'main' })
      await clock.sleep(options.scanIntervalMs, signal).catch(() => undefined)
    }
    await this.#actuator.stop()
  }

  async runOnce(): Promise<void> {
    const { snapshot, provider, clock } = this.#parts
    await snapshot.catchUp()
    await this.#cleanUpOnce()
    await this.#actuator.unmarkThoseThatStay()
    await provider.refresh()
    const nowMs = clock.now()
    const nodes = snapshot.nodes.map(({ node }) => node)
    this.#nodeCount = nodes.length
    const { seen, others } = await this.#groups(nodes)
    const templates = await this.#templatesOf(seen)
    this.#state.update(
      seen.map(({ state }) => state),
      others,
      nowMs,
    )
    tellState(this.#state, this.#parts)
    const mark = snapshot.mark()
    try {
      await this.#decide(seen, templates, nodes, nowMs)
    } finally {
      snapshot.undoTo(mark)
      await this.#writeStatus()
    }
  }

  async #decide(
    seen: readonly Seen[],
    templates: ReadonlyMap<string, TemplateNode>,
    nodes: readonly V1Node[],
    nowMs: number,
  ): Promise<void> {
    const { snapshot, options, metrics, clock } = this.#parts
    const groups = seen.map(({ state }) => state)
    const hasMended = await mendGroups(groups, this.#state, { ...this.#parts, statusEvents: this.#statusEvents })
    if (!this.#state.isClusterHealthy()) {
      this.#planner.forget()
      this.#statusEvents.warning('ClusterUnhealthy', 'Cluster is unhealthy')
      return
    }
    if (hasMended) return
    metrics.lastActivity.set(clock.now() / 1000, { activity: 'autoscaling' })
    this.#withoutExpendable()
    const startingNodes = this.#addUpcoming(templates)
    const present = nodes.filter(({ metadata }) => !startingNodes.has(metadata.name ?? ''))
    const waiting = unschedulablePods(snapshot, options)
    metrics.unschedulablePods.set(waiting.length, { type: 'unschedulable' })
    const inNeed = withoutYoung(await withoutSchedulable(waiting, snapshot), options, nowMs)
    const view: RoundView = {
      groups,
      templates,
      zeroOrMax: new Set(seen.filter((each) => each.options.zeroOrMaxNodeScaling).map(({ state }) => state.group.id)),
      limits: new ResourceLimits(
        options,
        snapshot.nodes.map(({ node }) => node),
      ),
      nodeCount: snapshot.nodes.length,
    }
    const isPaused = await this.#scaleUpFor(inNeed, view, nowMs)
    if (options.scaleDownEnabled) await this.#scaleDown(seen, present, isPaused, nowMs)
    if (options.enforceNodeGroupMinSize) await this.#scaleUp.toMinSize(view)
  }

  /** Tells whether nothing shall be removed in this round. */
  async #scaleUpFor(inNeed: readonly PodInfo[], view: RoundView, nowMs: number): Promise<boolean> {
    const { options, metrics } = this.#parts
    if (inNeed.length === 0) return false
    if (!options.scaleUpFromZero && this.#state.total.ready.length === 0) return true
    if (areAllNew(inNeed, nowMs)) return true
    if (options.maxNodesTotal > 0 && this.#state.total.ready.length >= options.maxNodesTotal) {
      this.#statusEvents.warning('MaxNodesTotalReached', `Max total nodes in cluster reached: ${options.maxNodesTotal}`)
      this.#scaleUp.tellAll(inNeed, 'max total nodes in cluster reached')
      metrics.skippedScaleEvents.inc({ direction: 'up', reason: 'maxNodesTotalReached' })
      return false
    }
    metrics.lastActivity.set(nowMs / 1000, { activity: 'scaleUp' })
    const result = await this.#scaleUp.run(inNeed, view)
    if (result === 'successful') this.#lastScaleUpMs = nowMs
    return result === 'successful'
  }

  async #scaleDown(seen: readonly Seen[], present: readonly V1Node[], isPaused: boolean, nowMs: number): Promise<void> {
    const { client, clock, logger, options, metrics, snapshot } = this.#parts
    const names = new Set(present.map(({ metadata }) => metadata.name ?? ''))
    const going = this.#actuator.inProgress
    const destinations = names.difference(going)
    // Nodes that must stay in any case are where the pods of others can go.
    const mayShrink = seen.filter(({ state, options: group }) => {
      const size = state.targetSize - this.#actuator.inProgressOf(state.group.id)
      return group.zeroOrMaxNodeScaling || size > state.group.minSize
    })
    const candidates: Candidate[] = mayShrink.flatMap(({ state, options: group }) =>
      state.nodes
        .filter(({ metadata }) => destinations.has(metadata.name ?? ''))
        .map((node) => ({ node, group: state.group, options: group })),
    )
    await this.#planner.update(candidates, destinations, nowMs)
    metrics.unneededNodes.set(this.#planner.unneeded.length)
    const isCooling =
      isPaused ||
      this.#lastScaleUpMs + options.scaleDownDelayAfterAddMs > nowMs ||
      this.#lastDeleteMs + options.scaleDownDelayAfterDeleteMs > nowMs ||
      this.#lastFailureMs + options.scaleDownDelayAfterFailureMs > nowMs
    metrics.scaleDownInCooldown.set(isCooling ? 1 : 0)
    try {
      if (!isCooling && candidates.length > 0) {
        metrics.lastActivity.set(nowMs / 1000, { activity: 'scaleDown' })
        const real = snapshot.nodes.map(({ node }) => node).filter(({ metadata }) => destinations.has(metadata.name ?? ''))
        const sizes = new Map(seen.map(({ state }) => [state.group.id, state.targetSize - this.#actuator.inProgressOf(state.group.id)]))
        const { empty, drained } = this.#planner.nodesToDelete({ limits: new ResourceLimits(options, real), sizes }, nowMs)
        if ((await this.#actuator.start(empty, drained)) > 0) this.#lastDeleteMs = nowMs
      }
    } catch (error) {
      this.#lastFailureMs = nowMs
      throw error
    } finally {
      this.#countUnremovable()
      const unneeded = new Set(this.#planner.unneeded.map(({ node }) => node.metadata.name ?? ''))
      const own = seen.flatMap(({ state }) => state.nodes).filter(({ metadata }) => !this.#actuator.inProgress.has(metadata.name ?? ''))
      await updateSoftTaints(own, unneeded, { client, clock, logger, most: options.maxBulkSoftTaintCount })
    }
  }

  #countUnremovable(): void {
    const counts = this.#unremovableCounts
    for (const reason of counts.keys()) counts.set(reason, 0)
    for (const { reason } of this.#planner.unremovable.values()) counts.set(reason, (counts.get(reason) ?? 0) + 1)
    for (const [reason, count] of counts) this.#parts.metrics.unremovableNodes.set(count, { reason })
  }

  /** The nodes of each group, and those of none. */
  async #groups(nodes: readonly V1Node[]): Promise<{ seen: Seen[]; others: V1Node[] }> {
    const { provider, options, logger } = this.#parts
    const members = new Map<string, V1Node[]>(provider.nodeGroups().map(({ id }) => [id, []]))
    const others: V1Node[] = []
    for (const node of nodes) {
      const group = await provider.groupOf(node)
      ;(members.get(group?.id ?? '') ?? others).push(node)
    }
    const seen = await Promise.all(
      provider.nodeGroups().map(async (group) => {
        // Without options of its own a group has those of the flags, and no other group has to wait for it.
        const ownOptions = group.options?.(options.group).catch((error: unknown) => {
          logger.warn('no options of node group', { nodeGroup: group.id, error: errorMessage(error) })
          return undefined
        })
        const [targetSize, instances, own] = await Promise.all([group.targetSize(), group.instances(), ownOptions])
        const groupOptions = own ?? options.group
        const { maxNodeProvisionMs } = groupOptions
        const state = { group, targetSize, instances, maxNodeProvisionMs, nodes: members.get(group.id) ?? [] }
        return { state, options: groupOptions }
      }),
    )
    return { seen, others }
  }

  async #templatesOf(seen: readonly Seen[]): Promise<Map<string, TemplateNode>> {
    const { snapshot, options, daemonSets, logger } = this.#parts
    const found = new Map<string, TemplateNode>()
    for (const { state } of seen) {
      const { group, nodes } = state
      try {
        const template = await this.#templates.of(group, nodes, { snapshot, options, daemonSets: daemonSets() })
        if (template !== undefined) found.set(group.id, template)
      } catch (error) {
        logger.warn('no template of node group', { nodeGroup: group.id, error: errorMessage(error) })
      }
    }
    return found
  }

  /** Pods of so little importance are neither moved nor waited for. */
  #withoutExpendable(): void {
    const { snapshot, options } = this.#parts
    for (const node of snapshot.nodes) {
      for (const pod of [...node.pods]) if (pod.priority < options.expendablePodsPriorityCutoff) snapshot.removePod(pod)
    }
  }

  /** Nodes that are on their way are taken to be there, and ready; gives back those that have registered already. */
  #addUpcoming(templates: ReadonlyMap<string, TemplateNode>): Set<string> {
    const { snapshot } = this.#parts
    const starting = new Set<string>()
    for (const { group, count, registered } of this.#state.upcoming()) {
      const template = templates.get(group.id)
      if (template === undefined) continue
      for (let index = 0; index < count; index++) {
        const { node, pods } = nodeFromTemplate(template, `upcoming-${group.id}-${index}`)
        snapshot.addNode(node, pods)
      }
      for (const name of registered) {
        starting.add(name)
        snapshot.removeNode(name)
      }
    }
    return starting
  }

  /** Whatever an earlier autoscaler had begun is not ours. */
  async #cleanUpOnce(): Promise<void> {
    if (this.#hasCleanedUp) return
    const { snapshot, client, options, clock, logger } = this.#parts
    if (options.writesStatus && this.#statusEvents.configMap === undefined) {
      const place = { namespace: options.namespace, name: options.statusConfigMapName }
      this.#statusEvents.configMap = await writeStatus(client, place, initializingStatus(clock.now()), clock.now())
    }
    for (const { node } of snapshot.nodes) {
      for (const key of [toBeDeletedTaint, deletionCandidateTaint]) {
        if (!hasTaint(node, key)) continue
        logger.info('removing taint of an earlier autoscaler', { node: node.metadata.name ?? '', taint: key })
        await removeTaint(node.metadata.name ?? '', key, this.#parts, key === toBeDeletedTaint && options.cordonNodeBeforeTerminate)
      }
    }
    this.#hasCleanedUp = true
  }

  async #writeStatus(): Promise<void> {
    const { client, options, logger, clock } = this.#parts
    if (!options.writesStatus) return
    const candidates = new Map<string, number>()
    for (const { group } of this.#planner.unneeded) candidates.set(group.id, (candidates.get(group.id) ?? 0) + 1)
    const place = { namespace: options.namespace, name: options.statusConfigMapName }
    try {
      this.#statusEvents.configMap = await writeStatus(client, place, this.#report.text(this.#state, candidates), clock.now())
    } catch (error) {
      logger.warn('failed to write status', { configMap: place.name, error: errorMessage(error) })
    }
  }
}
