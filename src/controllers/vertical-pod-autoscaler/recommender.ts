import { PocVerticalPodAutoscaler, VerticalPodAutoscaler, VerticalPodAutoscalerCheckpoint } from '#api/autoscaling/vertical/definitions.ts'
import { withinPolicy } from '#api/autoscaling/vertical/recommended-resources.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { milliQuantityOf, milliValueOf, quantityOf, wholeValueOf } from '#api/meta/quantity.ts'
import { isConflict, isNotFound } from '#api/meta/server-response.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import { errorMessage } from '#base/error-message.ts'
import { objectKey } from '#client/informer/object-store.ts'
import { defineLoop, type LoopContext } from '#controllers/runtime/define-loop.ts'
import { allAutoscalers, type FoundAutoscaler, TargetPods } from '#controllers/vertical-pod-autoscaler/autoscalers.ts'
import { loadCheckpoint, saveCheckpoint } from '#controllers/vertical-pod-autoscaler/checkpoints.ts'
import { type Estimate, estimates } from '#controllers/vertical-pod-autoscaler/estimate.ts'
import { ContainerUsage, dayMs, UsageHistory } from '#controllers/vertical-pod-autoscaler/usage-history.ts'

const roundMs = 60_000
/** By which autoscalers name it among several recommenders. */
const ownName = 'default'
const checkpointMs = 10 * 60_000
/** What was not used for so long is forgotten. */
const forgetMs = 8 * dayMs

/** Looks at what pods use once a minute, and tells autoscalers what they should have. */
export const verticalRecommender = defineLoop({
  name: 'vertical-pod-autoscaler-recommender',
  serviceAccount: 'vpa-recommender',
  reads: [Pod, VerticalPodAutoscaler, PocVerticalPodAutoscaler, VerticalPodAutoscalerCheckpoint],
  periodMs: () => roundMs,
  begin: (context) => {
    const recommender = new Recommender(context)
    return () => recommender.round()
  },
})

/** Containers by name, with the time they were measured at. */
type PodUsage = ReadonlyMap<string, { atMs: number; cpuMillis: number; memoryBytes: number }>

class Recommender {
  readonly #context: LoopContext
  readonly #targets: TargetPods
  /** By autoscaler, then by container. */
  readonly #histories = new Map<string, Map<string, UsageHistory>>()
  /** By uid of the pod and name of the container. */
  #containers = new Map<string, ContainerUsage>()
  readonly #outOfMemory = new Set<string>()
  #savedMs: number
  #isLoaded = false

  constructor(context: LoopContext) {
    const { client, cache, clock } = context
    this.#context = context
    this.#targets = new TargetPods({ client, cache, now: () => clock.now() })
    this.#savedMs = clock.now()
  }

  async round(): Promise<void> {
    const { cache, clock, logger } = this.#context
    const found = allAutoscalers(cache).filter(
      ({ autoscaler: { recommenders } }) => recommenders.length === 0 || recommenders.includes(ownName),
    )
    this.#forgetGone(found)
    if (found.length === 0) return
    if (!this.#isLoaded) this.#loadCheckpoints()
    const usage = await this.#measured().catch((error: unknown) => {
      logger.warn('failed to get usage of pods', { error: errorMessage(error) })
      return new Map<string, PodUsage>()
    })
    const seen = new Map<string, ContainerUsage>()
    for (const each of found) {
      try {
        const pods = await this.#targets.of(each.autoscaler)
        for (const pod of pods)
          this.#learn(each.key, pod, usage.get(objectKey(pod.metadata.namespace ?? '', pod.metadata.name ?? '')), seen)
        await this.#tell(each, pods)
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error))
          logger.warn('failed to recommend resources', { verticalPodAutoscaler: each.key, error: errorMessage(error) })
      }
    }
    this.#containers = seen
    if (clock.now() - this.#savedMs >= checkpointMs) await this.#saveCheckpoints(found)
  }

  #forgetGone(found: readonly FoundAutoscaler[]): void {
    const keys = new Set(found.map(({ key }) => key))
    for (const key of this.#histories.keys()) if (!keys.has(key)) this.#histories.delete(key)
    const sinceMs = this.#context.clock.now() - forgetMs
    for (const histories of this.#histories.values())
      for (const [container, { lastMs }] of histories) if (lastMs < sinceMs) histories.delete(container)
  }

  #historyOf(key: string, container: string): UsageHistory {
    return this.#histories.getOrInsertComputed(key, () => new Map()).getOrInsertComputed(container, () => new UsageHistory())
  }

  async #measured(): Promise<Map<string, PodUsage>> {
    type Item = {
      metadata: { namespace?: string; name?: string }
      timestamp: string
      containers?: { name: string; usage?: Record<string, string> }[]
    }
    const { items = [] } = JSON.parse(await this.#context.client.raw('/apis/metrics.k8s.io/v1beta1/pods')) as { items?: Item[] }
    return new Map(
      items.map(({ metadata, timestamp, containers = [] }) => {
        const atMs = parseTime(timestamp)
        const usage = containers.map(({ name, usage: used }) => {
          return [name, { atMs, cpuMillis: milliValueOf(used?.['cpu']), memoryBytes: wholeValueOf(used?.['memory']) }] as const
        })
        return [objectKey(metadata.namespace ?? '', metadata.name ?? ''), new Map(usage)]
      }),
    )
  }

  #learn(key: string, pod: V1Pod, usage: PodUsage | undefined, seen: Map<string, ContainerUsage>): void {
    for (const { name, resources } of pod.spec.containers) {
      const place = `${key}/${pod.metadata.uid}/${name}`
      const container = this.#containers.get(place) ?? new ContainerUsage()
      seen.set(place, container)
      const used = usage?.get(name)
      const history = this.#historyOf(key, name)
      if (used !== undefined) {
        container.addCpu(history, used.cpuMillis / 1000, milliValueOf(resources?.requests?.['cpu']) / 1000, used.atMs)
        container.addMemory(history, used.memoryBytes, used.atMs)
      }
      const died = pod.status?.containerStatuses?.find((status) => status.name === name)
      const { reason, finishedAt } = died?.lastState?.terminated ?? died?.state?.terminated ?? {}
      if (reason !== 'OOMKilled' || !finishedAt || this.#outOfMemory.has(`${place}/${finishedAt}`)) continue
      this.#outOfMemory.add(`${place}/${finishedAt}`)
      container.addOutOfMemory(
        history,
        wholeValueOf(resources?.requests?.['memory'] ?? resources?.limits?.['memory']),
        parseTime(finishedAt),
      )
    }
  }

  async #tell({ key, isPoc, object, autoscaler }: FoundAutoscaler, pods: readonly V1Pod[]): Promise<void> {
    const { client, clock } = this.#context
    const histories = [...(this.#histories.get(key) ?? [])].filter(([, history]) => !history.isEmpty)
    const containers = histories
      .filter(([container]) => autoscaler.policyOf(container).mode !== 'Off')
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([container, history]) => {
        const { target, lowerBound, upperBound } = estimates(history, histories.length)
        const capped = (estimate: Estimate) => withinPolicy(amounts(estimate), autoscaler.policyOf(container))
        const { controlledResources } = autoscaler.policyOf(container)
        const uncapped = Object.entries(amounts(target)).filter(([resource]) => controlledResources.includes(resource))
        const bounds = { lower: capped(lowerBound), upper: capped(upperBound) }
        return isPoc
          ? { name: container, target: capped(target), minRecommended: bounds.lower, maxRecommended: bounds.upper }
          : {
              ...{ containerName: container, target: capped(target), lowerBound: bounds.lower, upperBound: bounds.upper },
              uncappedTarget: Object.fromEntries(uncapped) as Record<string, string>,
            }
      })
    const now = formatTime(clock.now())
    const conditions = [
      conditionOf('RecommendationProvided', containers.length > 0, object.status?.conditions, now),
      ...(pods.length === 0
        ? [
            {
              ...conditionOf('NoPodsMatched', true, object.status?.conditions, now),
              reason: 'NoPodsMatched',
              message: 'No pods match this VPA object',
            },
          ]
        : []),
    ]
    const status = { ...(containers.length === 0 ? {} : { recommendation: { containerRecommendations: containers } }), conditions }
    const { lastUpdateTime: _when, ...before } = (object.status ?? {}) as Record<string, unknown>
    if (JSON.stringify(before) === JSON.stringify(status)) return
    if (isPoc)
      await client.updateStatus(PocVerticalPodAutoscaler, {
        ...object,
        status: { lastUpdateTime: now, ...status },
      } as PocVerticalPodAutoscaler)
    else await client.updateStatus(VerticalPodAutoscaler, { ...object, status } as VerticalPodAutoscaler)
  }

  #loadCheckpoints(): void {
    for (const checkpoint of this.#context.cache.list(VerticalPodAutoscalerCheckpoint)) {
      const loaded = loadCheckpoint(checkpoint)
      if (loaded === undefined) continue
      const { vpaName, container, history } = loaded
      const isPoc = vpaName.startsWith(pocPrefix)
      const key = `${isPoc ? 'poc/' : ''}${checkpoint.metadata?.namespace}/${isPoc ? vpaName.slice(pocPrefix.length) : vpaName}`
      this.#histories.getOrInsertComputed(key, () => new Map()).set(container, history)
    }
    this.#isLoaded = true
  }

  async #saveCheckpoints(found: readonly FoundAutoscaler[]): Promise<void> {
    const { client, clock, logger } = this.#context
    let isSaved = true
    for (const { key, isPoc, autoscaler } of found) {
      for (const [container, history] of this.#histories.get(key) ?? []) {
        if (history.isEmpty) continue
        const place = { namespace: autoscaler.namespace, vpaName: `${isPoc ? pocPrefix : ''}${autoscaler.name}`, container }
        await saveCheckpoint(client, place, history, clock.now()).catch((error: unknown) => {
          isSaved = false
          logger.warn('failed to save checkpoint', { verticalPodAutoscaler: key, container, error: errorMessage(error) })
        })
      }
    }
    // What could not be written is tried again in the next round.
    if (isSaved) this.#savedMs = clock.now()
  }
}

const pocPrefix = 'poc.'

const amounts = ({ cpuMillis, memoryBytes }: Estimate): Record<string, string> => ({
  ...{ cpu: milliQuantityOf(cpuMillis).toString(), memory: quantityOf(memoryBytes).toString() },
})

type Condition = { type: string; status: string; lastTransitionTime?: string }

function conditionOf(type: string, isTrue: boolean, before: Condition[] | undefined, now: string) {
  const status = isTrue ? 'True' : 'False'
  const known = findCondition(before ?? [], type)
  return { type, status, lastTransitionTime: known?.status === status ? (known.lastTransitionTime ?? now) : now }
}
