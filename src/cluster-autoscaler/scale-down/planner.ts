import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import type { GroupOptions, NodeGroup } from '#cluster-autoscaler/provider/node-group.ts'
import { type Blocking, type Move, type OwnerReplicas, podsToMove } from '#cluster-autoscaler/scale-down/pods-to-move.ts'
import { RemainingBudgets } from '#cluster-autoscaler/scale-down/remaining-budgets.ts'
import { type Utilization, utilizationOf } from '#cluster-autoscaler/scale-down/utilization.ts'
import { type ClusterSnapshot, unplaced } from '#cluster-autoscaler/snapshot/cluster-snapshot.ts'
import { taintedAtMs, toBeDeletedTaint } from '#cluster-autoscaler/snapshot/taints.ts'
import type { ResourceLimits } from '#cluster-autoscaler/state/resource-limits.ts'

export type UnremovableReason =
  | 'ScaleDownDisabledAnnotation'
  | 'ScaleDownUnreadyDisabled'
  | 'NotAutoscaled'
  | 'NotUnneededLongEnough'
  | 'NotUnreadyLongEnough'
  | 'NodeGroupMinSizeReached'
  | 'MinimalResourceLimitExceeded'
  | 'CurrentlyBeingDeleted'
  | 'NotUnderutilized'
  | 'RecentlyUnremovable'
  | 'NoPlaceToMovePods'
  | 'BlockedByPod'
  | 'BlockedByOnCompletionPod'
  | 'AtomicScaleDownFailed'

export type Candidate = { readonly node: V1Node; readonly group: NodeGroup; readonly options: GroupOptions }
export type Removable = Candidate & { readonly move: Move; readonly utilization: Utilization; readonly isRisky: boolean }

/** A node that is marked for longer than this has been forgotten: it may be looked at again. */
const deletionMs = 5 * 60_000

type Unneeded = { sinceMs: number; removable: Removable }

export type PlannerParts = {
  snapshot: ClusterSnapshot
  options: AutoscalerOptions
  replicasOf: OwnerReplicas
  gpuResourceOf(node: V1Node): string | undefined
}

export type DeletionLimits = {
  limits: ResourceLimits
  /** What each group has now, by id, deletions under way taken off. */
  sizes: Map<string, number>
}

/** Which nodes nobody needs, since when, and why the others are kept. */
export class Planner {
  readonly #parts: PlannerParts
  readonly #unneeded = new Map<string, Unneeded>()
  /** Nodes that could not be removed are not looked at again for a while: it is dear. */
  readonly #recheckMs = new Map<string, number>()
  readonly unremovable = new Map<string, { reason: UnremovableReason; blocking?: Blocking }>()

  constructor(parts: PlannerParts) {
    this.#parts = parts
  }

  get unneeded(): readonly Removable[] {
    return [...this.#unneeded.values()].map(({ removable }) => removable)
  }

  forget(): void {
    this.#unneeded.clear()
  }

  /** Empties the candidates in thought, one after the other, as long as their pods fit elsewhere. */
  async update(candidates: readonly Candidate[], destinations: ReadonlySet<string>, nowMs: number): Promise<void> {
    const { snapshot } = this.#parts
    this.unremovable.clear()
    const budgets = new RemainingBudgets(snapshot.objects('PodDisruptionBudget'))
    const removable = new Map<string, Removable>()
    const left = new Set(destinations)
    const mark = snapshot.mark()
    try {
      for (const candidate of this.#inOrder(candidates)) {
        if (removable.size >= this.#worthKnowing) break
        if (snapshot.isLong) await snapshot.giveWay()
        const name = candidate.node.metadata.name ?? ''
        const found = this.#look(candidate, left, budgets, nowMs)
        if (typeof found === 'string') this.unremovable.set(name, { reason: found })
        else if ('blocking' in found) this.unremovable.set(name, { reason: 'BlockedByPod', blocking: found.blocking })
        else {
          removable.set(name, found)
          left.delete(name)
          budgets.take(found.move.pods)
          continue
        }
        if (typeof found === 'object' || found === 'NoPlaceToMovePods')
          this.#recheckMs.set(name, nowMs + this.#parts.options.unremovableNodeRecheckMs)
      }
    } finally {
      snapshot.undoTo(mark)
    }
    for (const name of [...this.#unneeded.keys()]) if (!removable.has(name)) this.#unneeded.delete(name)
    for (const [name, each] of removable) {
      this.#unneeded.set(name, { sinceMs: this.#unneeded.get(name)?.sinceMs ?? nowMs, removable: each })
    }
    for (const [name, untilMs] of this.#recheckMs) if (untilMs <= nowMs) this.#recheckMs.delete(name)
  }

  /** More unneeded nodes than can be removed in the next rounds need not be found now. */
  get #worthKnowing(): number {
    const { maxScaleDownParallelism, scanIntervalMs, group } = this.#parts.options
    const rounds = Math.max(1, Math.floor(group.scaleDownUnneededMs / scanIntervalMs))
    return Math.min(this.#unneeded.size + 2 * maxScaleDownParallelism, maxScaleDownParallelism * (rounds + 1))
  }

  /** Those that were unneeded before stay so rather than others; empty ones come first. */
  #inOrder(candidates: readonly Candidate[]): Candidate[] {
    const rank = ({ node }: Candidate): number => {
      const name = node.metadata.name ?? ''
      const since = this.#unneeded.get(name)?.sinceMs ?? Number.MAX_SAFE_INTEGER
      return (this.#parts.snapshot.node(name)?.pods.length ?? 0) === 0 ? -1 : since
    }
    return candidates.toSorted((one, other) => rank(one) - rank(other))
  }

  #look(
    candidate: Candidate,
    destinations: ReadonlySet<string>,
    budgets: RemainingBudgets,
    nowMs: number,
  ): Removable | UnremovableReason | { blocking: Blocking } {
    const { snapshot, options, replicasOf } = this.#parts
    const { node } = candidate
    const name = node.metadata.name ?? ''
    const info = snapshot.node(name)
    if (info === undefined || nowMs - (taintedAtMs(node, toBeDeletedTaint) ?? Number.NEGATIVE_INFINITY) < deletionMs)
      return 'CurrentlyBeingDeleted'
    if (node.metadata.annotations?.['cluster-autoscaler.kubernetes.io/scale-down-disabled'] === 'true') return 'ScaleDownDisabledAnnotation'
    if (!options.scaleDownUnreadyEnabled && !isNodeReady(node)) return 'ScaleDownUnreadyDisabled'
    if ((this.#recheckMs.get(name) ?? 0) > nowMs) return 'RecentlyUnremovable'
    const gpuResource = this.#parts.gpuResourceOf(node)
    const utilization = utilizationOf(info, {
      ...{ ignoresDaemonSets: candidate.options.ignoreDaemonSetsUtilization, ignoresMirrors: options.ignoreMirrorPodsUtilization },
      ...{ gpuResource, nowMs },
    })
    const { scaleDownUtilizationThreshold, scaleDownGpuUtilizationThreshold } = candidate.options
    if (utilization.share >= (gpuResource === undefined ? scaleDownUtilizationThreshold : scaleDownGpuUtilizationThreshold))
      return 'NotUnderutilized'
    const move = podsToMove(info, { budgets, replicasOf, options, nowMs })
    if ('blocking' in move) return move
    if (!this.#fitsElsewhere(name, move, destinations)) return 'NoPlaceToMovePods'
    return { ...candidate, move, utilization, isRisky: !budgets.allowsTogether(move.pods) }
  }

  /** What fits stays where it was put, so that the next candidate finds the room taken. */
  #fitsElsewhere(name: string, { pods }: Move, destinations: ReadonlySet<string>): boolean {
    const { snapshot } = this.#parts
    const mark = snapshot.mark()
    for (const pod of pods) snapshot.removePod(pod)
    for (const pod of pods) {
      const found = snapshot.placeAnywhere(unplaced(pod), (node) => node.name !== name && destinations.has(node.name))
      if (found !== undefined) continue
      snapshot.undoTo(mark)
      return false
    }
    return true
  }

  /** Those whose time has come, as far as groups and totals may shrink. */
  nodesToDelete({ limits, sizes }: DeletionLimits, nowMs: number): { empty: Removable[]; drained: Removable[] } {
    const empty: Removable[] = []
    const drained: Removable[] = []
    const byRisk = [...this.#unneeded.values()].sort(
      (one, other) =>
        one.removable.move.pods.length - other.removable.move.pods.length ||
        Number(one.removable.isRisky) - Number(other.removable.isRisky) ||
        one.sinceMs - other.sinceMs,
    )
    for (const entry of byRisk) {
      const { removable } = entry
      const { node, group } = removable
      const reason = this.#keptBecause(entry, { limits, sizes }, nowMs)
      if (reason !== undefined) {
        this.unremovable.set(node.metadata.name ?? '', { reason })
        continue
      }
      limits.add(node, -1)
      sizes.set(group.id, (sizes.get(group.id) ?? 0) - 1)
      ;(removable.move.pods.length > 0 ? drained : empty).push(removable)
    }
    return this.#wholeGroupsOnly(empty, drained, sizes)
  }

  #keptBecause({ sinceMs, removable }: Unneeded, { limits, sizes }: DeletionLimits, nowMs: number): UnremovableReason | undefined {
    const { node, group, options, move } = removable
    const isReady = isNodeReady(node)
    if (sinceMs + (isReady ? options.scaleDownUnneededMs : options.scaleDownUnreadyMs) > nowMs)
      return isReady ? 'NotUnneededLongEnough' : 'NotUnreadyLongEnough'
    if (!options.zeroOrMaxNodeScaling && (sizes.get(group.id) ?? 0) <= group.minSize) return 'NodeGroupMinSizeReached'
    if (!limits.allowsRemoval(node)) return 'MinimalResourceLimitExceeded'
    return move.onCompletion.length > 0 ? 'BlockedByOnCompletionPod' : undefined
  }

  /** Of groups that are all or nothing, none goes unless all do. */
  #wholeGroupsOnly(
    empty: Removable[],
    drained: Removable[],
    sizes: ReadonlyMap<string, number>,
  ): { empty: Removable[]; drained: Removable[] } {
    const isWhole = ({ options, group, node }: Removable): boolean => {
      if (!options.zeroOrMaxNodeScaling || (sizes.get(group.id) ?? 0) <= 0) return true
      this.unremovable.set(node.metadata.name ?? '', { reason: 'AtomicScaleDownFailed' })
      return false
    }
    return { empty: empty.filter(isWhole), drained: drained.filter(isWhole) }
  }
}
