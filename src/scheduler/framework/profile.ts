import { append } from '#base/append.ts'
import { defined } from '#base/defined.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { Cycle } from '#scheduler/framework/cycle.ts'
import type { Diagnosis } from '#scheduler/framework/fit-error.ts'
import type { AnyPlugin, PermitAnswer, PostFilterAnswer } from '#scheduler/framework/plugin.ts'
import type { MeasuredPoint, PluginMetrics, Tally } from '#scheduler/framework/plugin-metrics.ts'
import { failed, from, type Status, unresolvable, unschedulable } from '#scheduler/framework/status.ts'
import type { Nominator } from '#scheduler/queue/nominator.ts'

export type WeightedPlugin = { readonly plugin: AnyPlugin; readonly weight: number }

/** The plugins of each extension point, in the order in which they are asked. */
export type PluginPoints = {
  readonly preEnqueue: readonly AnyPlugin[]
  readonly queueSort: readonly AnyPlugin[]
  readonly preFilter: readonly AnyPlugin[]
  readonly filter: readonly AnyPlugin[]
  readonly postFilter: readonly AnyPlugin[]
  readonly preScore: readonly AnyPlugin[]
  readonly score: readonly WeightedPlugin[]
  readonly reserve: readonly AnyPlugin[]
  readonly permit: readonly AnyPlugin[]
  readonly preBind: readonly AnyPlugin[]
  readonly bind: readonly AnyPlugin[]
  readonly postBind: readonly AnyPlugin[]
}

export type PreFilterOutcome = {
  readonly refused?: Status
  readonly nodeNames?: ReadonlySet<string>
  readonly narrowedBy: readonly string[]
}

/** What one plugin gave one node, before the weight. */
export type ScoreListener = (plugin: AnyPlugin, weight: number, scores: Float64Array) => void

/** One scheduler by name, and the plugins that decide for the pods that ask for it. */
export class Profile {
  readonly schedulerName: string
  readonly points: PluginPoints
  /** 0 means: fewer, the larger the cluster. */
  readonly percentageOfNodesToScore: number | undefined
  readonly metrics: PluginMetrics
  readonly #nominator: Nominator
  #scores = new Float64Array(0)

  constructor(
    schedulerName: string,
    points: PluginPoints,
    nominator: Nominator,
    metrics: PluginMetrics,
    percentageOfNodesToScore?: number,
  ) {
    this.schedulerName = schedulerName
    this.points = points
    this.metrics = metrics
    this.#nominator = nominator
    this.percentageOfNodesToScore = percentageOfNodesToScore
  }

  preEnqueue(pod: PodInfo): Status | undefined {
    return this.metrics.point('PreEnqueue', () => {
      for (const plugin of this.points.preEnqueue) {
        const status = plugin.preEnqueue?.(pod)
        if (status !== undefined) return from(plugin.name, status)
      }
      return undefined
    })
  }

  /** Fills the cycle with the plugins that have a say about this pod. */
  preFilter(cycle: Cycle): PreFilterOutcome {
    const skipped = new Set<AnyPlugin>()
    const narrowedBy: string[] = []
    let nodeNames: ReadonlySet<string> | undefined
    let refused: Status | undefined
    for (const plugin of this.points.preFilter) {
      this.metrics.tally('PreFilter', plugin).count++
      const answer = this.#ask('PreFilter', cycle, plugin, () => asked(plugin, () => plugin.preFilter?.(cycle.pod) ?? 'skip'))
      if (answer === 'skip') skipped.add(plugin)
      else if ('refused' in answer) {
        if (answer.refused.code !== 'Unschedulable') return { refused: from(plugin.name, answer.refused), narrowedBy }
        refused ??= from(plugin.name, answer.refused)
      } else {
        cycle.states.set(plugin, answer.state)
        if (answer.nodeNames === undefined) continue
        narrowedBy.push(plugin.name)
        nodeNames = nodeNames === undefined ? answer.nodeNames : nodeNames.intersection(answer.nodeNames)
        if (nodeNames.size === 0) return { refused: nobodyLeft(narrowedBy), narrowedBy }
      }
    }
    cycle.filters = this.points.filter.filter((plugin) => !skipped.has(plugin))
    cycle.filterStates = cycle.filters.map((plugin) => cycle.states.get(plugin))
    cycle.filterTallies = cycle.filters.map((plugin) => this.metrics.tally('Filter', plugin))
    return { narrowedBy, ...defined({ refused, nodeNames }) }
  }

  filter(cycle: Cycle, node: NodeInfo): Status | undefined {
    const { filters, filterStates, filterTallies, pod, isSampled } = cycle
    for (let index = 0; index < filters.length; index++) {
      const plugin = filters[index] as AnyPlugin
      ;(filterTallies[index] as Tally).count++
      const state = filterStates[index]
      const status = isSampled
        ? this.metrics.plugin('Filter', plugin, () => plugin.filter?.(pod, node, state))
        : plugin.filter?.(pod, node, state)
      if (status !== undefined) return from(plugin.name, status)
    }
    return undefined
  }

  /**
   * A pod must fit with those that were promised room here, in case they come, and without them, in case they do not:
   * affinity to a pod that never arrives is worth nothing.
   */
  filterWithNominated(cycle: Cycle, node: NodeInfo): Status | undefined {
    if (this.#nominator.isEmpty) return this.filter(cycle, node)
    const nominated = this.nominatedBeside(cycle.pod, node.name)
    if (nominated.length === 0) return this.filter(cycle, node)
    const crowded = node.clone()
    const trial = cycle.clone()
    for (const other of nominated) this.tryOn(trial, other, crowded)
    return this.filter(trial, crowded) ?? this.filter(cycle, node)
  }

  nominatedBeside(pod: PodInfo, nodeName: string): PodInfo[] {
    const others: PodInfo[] = []
    for (const other of this.#nominator.on(nodeName)) if (other.priority >= pod.priority && other.uid !== pod.uid) others.push(other)
    return others
  }

  /** On copies only. */
  tryOn(cycle: Cycle, added: PodInfo, node: NodeInfo): void {
    node.addPod(added)
    for (const [index, plugin] of cycle.filters.entries()) plugin.addPod?.(cycle.filterStates[index], cycle.pod, added, node)
  }

  /** On copies only. */
  tryOff(cycle: Cycle, removed: PodInfo, node: NodeInfo): void {
    node.removePod(removed)
    for (const [index, plugin] of cycle.filters.entries()) plugin.removePod?.(cycle.filterStates[index], cycle.pod, removed, node)
  }

  postFilter(cycle: Cycle, diagnosis: Diagnosis): Promise<PostFilterAnswer> {
    return this.metrics.point('PostFilter', () => this.#postFilter(cycle, diagnosis))
  }

  async #postFilter(cycle: Cycle, diagnosis: Diagnosis): Promise<PostFilterAnswer> {
    let nominatedNode: string | undefined
    const reasons: string[] = []
    for (const plugin of this.points.postFilter) {
      const answer = this.#ask('PostFilter', cycle, plugin, () => plugin.postFilter?.(cycle.pod, diagnosis, cycle))
      if (answer === undefined) continue
      const { status, ...settled } = answer instanceof Promise ? await answer : answer
      if (status === undefined || status.code !== 'Unschedulable') return { ...settled, status }
      nominatedNode = settled.nominatedNode ?? nominatedNode
      append(reasons, status.reasons)
    }
    return { nominatedNode, status: reasons.length === 0 ? undefined : unschedulable(...reasons) }
  }

  /** The weighted sums, in the order of the nodes. */
  score(cycle: Cycle, nodes: readonly NodeInfo[], listener?: ScoreListener): Float64Array {
    const totals = new Float64Array(nodes.length)
    if (this.#scores.length !== nodes.length) this.#scores = new Float64Array(nodes.length)
    const scores = this.#scores
    const { pod } = cycle
    for (const { plugin, weight } of this.points.score) {
      const state = this.#preScore(cycle, plugin, nodes)
      if (state === 'skip' || plugin.score === undefined) continue
      const { score } = plugin
      this.metrics.tally('Score', plugin).count += nodes.length
      for (let index = 0; index < nodes.length; index++) {
        const node = nodes[index] as NodeInfo
        scores[index] = cycle.isSampled ? this.metrics.plugin('Score', plugin, () => score(pod, node, state)) : score(pod, node, state)
      }
      plugin.normalize?.(scores, state, nodes)
      for (let index = 0; index < nodes.length; index++) totals[index] = (totals[index] as number) + (scores[index] as number) * weight
      listener?.(plugin, weight, scores)
    }
    return totals
  }

  #preScore(cycle: Cycle, plugin: AnyPlugin, nodes: readonly NodeInfo[]): unknown {
    if (plugin.preScore === undefined) return undefined
    this.metrics.tally('PreScore', plugin).count++
    return this.#ask('PreScore', cycle, plugin, () => plugin.preScore?.(cycle.pod, nodes, cycle.states.get(plugin)))
  }

  reserve(cycle: Cycle, pod: PodInfo, nodeName: string): Status | undefined {
    return this.metrics.point('Reserve', () => {
      for (const plugin of this.points.reserve) {
        const status = this.#ask('Reserve', cycle, plugin, () => plugin.reserve?.(pod, nodeName, cycle.states.get(plugin)))
        if (status !== undefined) return from(plugin.name, status)
      }
      return undefined
    })
  }

  /** In the opposite order, and also by those that never reserved: it must do no harm. */
  unreserve(cycle: Cycle, pod: PodInfo, nodeName: string): void {
    this.metrics.point('Unreserve', () => {
      for (const plugin of this.points.reserve.toReversed())
        this.#ask('Unreserve', cycle, plugin, () => plugin.unreserve?.(pod, nodeName, cycle.states.get(plugin)))
    })
  }

  /** A refusal, or how long each plugin that is not sure yet may take; nothing when all agree. */
  permit(cycle: Cycle, pod: PodInfo, nodeName: string): Status | ReadonlyMap<string, number> | undefined {
    const waits = new Map<string, number>()
    const refused = this.metrics.point('Permit', (): PermitAnswer => {
      for (const plugin of this.points.permit) {
        const answer = this.#ask('Permit', cycle, plugin, () => plugin.permit?.(pod, nodeName))
        if (answer === undefined) continue
        if (!('waitMs' in answer)) return from(plugin.name, answer)
        waits.set(plugin.name, answer.waitMs)
      }
      return waits.size > 0 ? { waitMs: Math.max(...waits.values()) } : undefined
    })
    if (refused !== undefined && 'code' in refused) return refused
    return waits.size > 0 ? waits : undefined
  }

  takesTimeToBind(cycle: Cycle, nodeName: string): boolean {
    return this.points.preBind.some((plugin) => plugin.takesTimeToBind?.(nodeName, cycle.states.get(plugin)) ?? false)
  }

  preBind(cycle: Cycle, pod: PodInfo, nodeName: string, signal: AbortSignal): Promise<Status | undefined> {
    return this.metrics.point('PreBind', async () => {
      for (const plugin of this.points.preBind) {
        const status = await this.#ask('PreBind', cycle, plugin, () => plugin.preBind?.(pod, nodeName, cycle.states.get(plugin), signal))
        if (status !== undefined) return from(plugin.name, status)
      }
      return undefined
    })
  }

  bind(cycle: Cycle, pod: PodInfo, nodeName: string): Promise<Status | undefined> {
    return this.metrics.point('Bind', async () => {
      for (const plugin of this.points.bind) {
        const status = await this.#ask('Bind', cycle, plugin, () => plugin.bind?.(pod, nodeName))
        if (status !== 'skip') return status === undefined ? undefined : from(plugin.name, status)
      }
      return failed(new Error('no bind plugin is enabled'))
    })
  }

  postBind(cycle: Cycle, pod: PodInfo, nodeName: string): void {
    this.metrics.point('PostBind', () => {
      for (const plugin of this.points.postBind) this.#ask('PostBind', cycle, plugin, () => plugin.postBind?.(pod, nodeName))
    })
  }

  #ask<T>(point: MeasuredPoint, { isSampled }: Cycle, plugin: AnyPlugin, question: () => T): T {
    return isSampled ? this.metrics.plugin(point, plugin, question) : question()
  }
}

function asked<T>(plugin: AnyPlugin, question: () => T): T | { refused: Status } {
  try {
    return question()
  } catch (error) {
    const status = failed(error)
    const message = `running PreFilter plugin "${plugin.name}": ${status.reasons[0]}`
    return { refused: { ...status, reasons: [message] } }
  }
}

function nobodyLeft(names: readonly string[]): Status {
  const sorted = names.toSorted()
  const reason =
    sorted.length === 1
      ? `node(s) didn't satisfy plugin ${sorted[0]}`
      : `node(s) didn't satisfy plugin(s) [${sorted.join(' ')}] simultaneously`
  return { ...unresolvable(reason), plugin: sorted[0] ?? '' }
}
