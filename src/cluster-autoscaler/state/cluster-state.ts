import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { type Instance, type InstanceError, isNodeOf, type NodeGroup } from '#cluster-autoscaler/provider/node-group.ts'
import { GroupBackoff } from '#cluster-autoscaler/state/backoff.ts'
import { countNode, noReadiness, type Readiness } from '#cluster-autoscaler/state/readiness.ts'

/** A group as it is in this round. */
export type GroupState = {
  readonly group: NodeGroup
  readonly targetSize: number
  readonly maxNodeProvisionMs: number
  readonly nodes: readonly V1Node[]
  readonly instances: readonly Instance[]
}

/** Somebody who writes down what failed: events and metrics. */
export type FailureListener = (failure: {
  group: NodeGroup
  kind: 'timeout' | 'instances' | 'request'
  error: InstanceError
  count: number
  afterMs: number
}) => void

type Request = { increase: number; atMs: number; expectedMs: number }
type WrongSize = { current: number; expected: number; sinceMs: number }

/** What was asked of each group, what has come of it, and which groups are better left alone. */
export class ClusterState {
  readonly #options: AutoscalerOptions
  readonly #onFailure: FailureListener
  readonly #backoff: GroupBackoff
  readonly #requests = new Map<string, Request>()
  /** Groups whose last request came to nothing, until they have what they should. */
  readonly #gaveUp = new Set<string>()
  #groups = new Map<string, GroupState>()
  #readiness = new Map<string, Readiness>()
  #unregisteredSince = new Map<string, number>()
  #wrongSizes = new Map<string, WrongSize>()
  #failedInstances = new Set<string>()
  total: Readiness = noReadiness()
  nowMs = 0

  constructor(options: AutoscalerOptions, onFailure: FailureListener) {
    this.#options = options
    this.#onFailure = onFailure
    const { initialNodeGroupBackoffMs: initialMs, maxNodeGroupBackoffMs: maxMs, nodeGroupBackoffResetMs: resetMs } = options
    this.#backoff = new GroupBackoff({ initialMs, maxMs, resetMs })
  }

  get groups(): Iterable<GroupState> {
    return this.#groups.values()
  }

  readiness(groupId: string): Readiness {
    return this.#readiness.get(groupId) ?? noReadiness()
  }

  /** Takes in what the API server and the provider say now. */
  update(groups: readonly GroupState[], others: readonly V1Node[], nowMs: number): void {
    this.nowMs = nowMs
    this.#groups = new Map(groups.map((state) => [state.group.id, state]))
    this.total = noReadiness()
    this.#readiness = new Map()
    for (const node of others) countNode(this.total, node, { nowMs, isDeleted: false, options: this.#options })
    const since = new Map<string, number>()
    for (const state of groups) this.#countGroup(state, since)
    this.#unregisteredSince = since
    this.#settleRequests()
    this.#noteFailedInstances()
    this.#compareSizes()
    this.#backoff.forgetOld(nowMs)
  }

  #countGroup({ group, nodes, instances, maxNodeProvisionMs }: GroupState, since: Map<string, number>): void {
    const readiness = noReadiness()
    this.#readiness.set(group.id, readiness)
    const ids = new Map(nodes.map((node) => [node.spec?.providerID || node.metadata.name || '', node]))
    const known = new Set(instances.filter(({ state }) => state !== 'deleting').map(({ id }) => id))
    for (const node of nodes) {
      const isDeleted = !known.has(node.spec?.providerID || node.metadata.name || '')
      for (const each of [readiness, this.total]) countNode(each, node, { nowMs: this.nowMs, isDeleted, options: this.#options })
    }
    for (const { id, state, error } of instances) {
      if (ids.has(id) || state === 'deleting' || error !== undefined) continue
      const sinceMs = this.#unregisteredSince.get(id) ?? this.nowMs
      since.set(id, sinceMs)
      const isLong = sinceMs + maxNodeProvisionMs < this.nowMs
      for (const each of [readiness, this.total]) (isLong ? each.longUnregistered : each.unregistered).push(id)
    }
  }

  /** Machines that should be nodes, and may yet become some. */
  #missing({ group, targetSize }: GroupState): number {
    const { ready, unready, longUnregistered } = this.readiness(group.id)
    return targetSize - ready.length - unready.length - longUnregistered.length
  }

  #settleRequests(): void {
    for (const [id, state] of this.#groups) {
      const missing = this.#missing(state)
      if (missing <= 0) this.#gaveUp.delete(id)
      const request = this.#requests.get(id)
      if (request === undefined) continue
      if (missing <= 0) {
        this.#requests.delete(id)
        this.#backoff.succeeded(id)
      } else if (request.expectedMs < this.nowMs) {
        const afterMs = this.nowMs - request.atMs
        const message = `Scale-up timed out for node group ${id} after ${afterMs / 1000}s`
        this.#requests.delete(id)
        this.#failed(state.group, 'timeout', { code: 'timeout', message, isOutOfResources: false }, missing, afterMs)
      }
    }
  }

  #noteFailedInstances(): void {
    const failed = new Set<string>()
    for (const { group, instances } of this.#groups.values()) {
      const byCode = new Map<string, { error: InstanceError; count: number }>()
      for (const { id, error } of instances) {
        if (error === undefined) continue
        failed.add(id)
        if (this.#failedInstances.has(id)) continue
        byCode.set(error.code, { error, count: (byCode.get(error.code)?.count ?? 0) + 1 })
      }
      for (const { error, count } of byCode.values()) {
        this.#addToRequest(group, -count)
        this.#failed(group, 'instances', error, count, 0)
      }
    }
    this.#failedInstances = failed
  }

  #compareSizes(): void {
    const wrong = new Map<string, WrongSize>()
    for (const { group, targetSize } of this.#groups.values()) {
      const { registered, unregistered, longUnregistered } = this.readiness(group.id)
      const waiting = unregistered.length + longUnregistered.length
      if (registered.length <= targetSize && registered.length >= targetSize - waiting) continue
      const known = this.#wrongSizes.get(group.id)
      const isSame = known?.current === registered.length && known.expected === targetSize
      wrong.set(group.id, isSame ? known : { current: registered.length, expected: targetSize, sinceMs: this.nowMs })
    }
    this.#wrongSizes = wrong
  }

  /** How many machines too many the provider believes it makes, where it has believed so for too long. */
  excess(groupId: string): number {
    const wrong = this.#wrongSizes.get(groupId)
    const state = this.#groups.get(groupId)
    if (wrong === undefined || state === undefined || wrong.sinceMs + state.maxNodeProvisionMs >= this.nowMs) return 0
    return Math.max(0, wrong.expected - wrong.current)
  }

  /** Machines that failed for good. */
  failedInstances(groupId: string): readonly Instance[] {
    return (this.#groups.get(groupId)?.instances ?? []).filter(({ error, state }) => error !== undefined && state !== 'deleting')
  }

  scaledUp(group: NodeGroup, by: number, maxNodeProvisionMs: number): void {
    this.#gaveUp.delete(group.id)
    this.#addToRequest(group, by, maxNodeProvisionMs)
  }

  #addToRequest({ id }: NodeGroup, by: number, provisionMs = 0): void {
    const known = this.#requests.get(id)
    const increase = (known?.increase ?? 0) + by
    if (increase <= 0) this.#requests.delete(id)
    else if (by > 0) this.#requests.set(id, { increase, atMs: this.nowMs, expectedMs: this.nowMs + provisionMs })
    else if (known !== undefined) this.#requests.set(id, { ...known, increase })
  }

  scaleUpFailed(group: NodeGroup, message: string, count: number): void {
    this.#failed(group, 'request', { code: 'cloudProviderError', message, isOutOfResources: false }, count, 0)
  }

  #failed(group: NodeGroup, kind: 'timeout' | 'instances' | 'request', error: InstanceError, count: number, afterMs: number): void {
    this.#gaveUp.add(group.id)
    this.#backoff.failed(group.id, error, this.nowMs)
    this.#onFailure({ group, kind, error, count, afterMs })
  }

  backoffOf(groupId: string): InstanceError | undefined {
    return this.#backoff.errorOf(groupId, this.nowMs)
  }

  isScalingUp(groupId: string): boolean {
    const state = this.#groups.get(groupId)
    return state !== undefined && this.#requests.has(groupId) && this.#missing(state) > 0
  }

  /** Nodes that will come, by group; of those some may have registered already and are not ready yet. */
  upcoming(): { group: NodeGroup; count: number; registered: readonly string[] }[] {
    const found: { group: NodeGroup; count: number; registered: readonly string[] }[] = []
    for (const state of this.#groups.values()) {
      const { group } = state
      const count = this.#missing(state)
      // What nobody believes in any more must not keep pods from another group.
      const isDoubtful = this.backoffOf(group.id) !== undefined || (!this.#requests.has(group.id) && this.#gaveUp.has(group.id))
      if (count > 0 && !isDoubtful) found.push({ group, count, registered: this.readiness(group.id).notStarted })
    }
    return found
  }

  isClusterHealthy(): boolean {
    const { unready, registered } = this.total
    return !this.#isTooMany(unready.length, registered.length)
  }

  isGroupHealthy(groupId: string): boolean {
    const state = this.#groups.get(groupId)
    if (state === undefined) return false
    const { ready, unready, notStarted, longUnregistered } = this.readiness(groupId)
    const expected = state.targetSize - longUnregistered.length - (this.#requests.get(groupId)?.increase ?? 0)
    return !this.#isTooMany(expected - ready.length, ready.length + unready.length + notStarted.length)
  }

  #isTooMany(unready: number, all: number): boolean {
    const { okTotalUnreadyCount, maxTotalUnreadyPercentage } = this.#options
    return unready > okTotalUnreadyCount && unready > (maxTotalUnreadyPercentage / 100) * all
  }

  /** Machines that have not registered in all the time they had, as nodes that only have a name. */
  longUnregistered(groupId: string): V1Node[] {
    const names = new Set(this.readiness(groupId).longUnregistered)
    const { instances = [], nodes = [] } = this.#groups.get(groupId) ?? {}
    return instances
      .filter((instance) => names.has(instance.id) && !nodes.some((node) => isNodeOf(instance, node)))
      .map(({ id }) => nodeOfInstance(id))
  }
}

/** What a provider is told about a machine that never became a node. */
export const nodeOfInstance = (id: string): V1Node => ({ metadata: { name: id }, spec: { providerID: id } })
