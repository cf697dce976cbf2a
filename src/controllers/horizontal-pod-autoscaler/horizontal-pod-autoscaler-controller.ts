import { HorizontalPodAutoscaler } from '#api/autoscaling/v2/kinds.gen.ts'
import type { V2HorizontalPodAutoscaler, V2HorizontalPodAutoscalerStatus, V2MetricStatus } from '#api/autoscaling/v2/types.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { type LabelSelector, parseLabelSelector } from '#api/meta/selector.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { type DiscoveredResource, discover } from '#client/discovery.ts'
import { History, type Limited, limitedByDefault } from '#controllers/horizontal-pod-autoscaler/history.ts'
import { MetricError, metricProposal, tolerancesOf } from '#controllers/horizontal-pod-autoscaler/metric-proposal.ts'
import { type ScaleTarget, scaleTarget, setReplicas } from '#controllers/horizontal-pod-autoscaler/scale-target.ts'
import { StatusDraft } from '#controllers/horizontal-pod-autoscaler/status-draft.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'

const name = 'horizontal-pod-autoscaler-controller'

/** Makes workloads larger and smaller, so that what is measured of them stays near its target. */
export const horizontalPodAutoscalerController = defineController({
  name,
  alias: 'horizontalpodautoscaling',
  queueName: 'horizontalpodautoscaler',
  serviceAccount: 'horizontal-pod-autoscaler',
  for: HorizontalPodAutoscaler,
  reads: [Pod],
  batchMs: 15_000,

  async reconcile(autoscaler, context) {
    const { settings, requeueAfter, logger, key } = context
    const status = new StatusDraft(autoscaler, context.clock)
    // Measurements change without anybody telling: failures wait for the next round like everything else.
    requeueAfter(settings.horizontalPodAutoscaler.syncPeriodMs)
    try {
      await scale(autoscaler, status, context)
    } catch (error) {
      logger.warn('failed to scale target of HorizontalPodAutoscaler, retrying with the next sync', {
        object: key,
        error: errorMessage(error),
      })
    }
    await writeStatus(autoscaler, status.status, context)
  },
  async reconcileGone(_namespace, _name, { cache, key }) {
    const { histories, selectors } = memoryOf(cache)
    histories.delete(key)
    selectors.delete(key)
  },
})

/** What a controller remembers: nothing of it is needed to be right, only to be steady. */
type Memory = {
  histories: Map<string, History>
  selectors: Map<string, LabelSelector>
  resources: readonly DiscoveredResource[]
  askedMs: number
}
const memories = new WeakMap<Cache, Memory>()
const discoveryMs = 30_000

function memoryOf(cache: Cache): Memory {
  const memory = memories.get(cache) ?? { histories: new Map(), selectors: new Map(), resources: [], askedMs: Number.NEGATIVE_INFINITY }
  memories.set(cache, memory)
  return memory
}

async function servedResources({ cache, client, clock }: ReconcileContext): Promise<readonly DiscoveredResource[]> {
  const memory = memoryOf(cache)
  if (clock.now() - memory.askedMs < discoveryMs) return memory.resources
  memory.resources = (await discover(client)).resources
  memory.askedMs = clock.now()
  return memory.resources
}

type Desired = { replicas: number; reason: string; metrics: V2MetricStatus[]; failure?: Error }

async function scale(autoscaler: V2HorizontalPodAutoscaler, status: StatusDraft, context: ReconcileContext): Promise<void> {
  const { client, clock, events, cache, key } = context
  const resources = await servedResources(context)
  const target = await scaleTarget(autoscaler, resources, client).catch((error: unknown) => {
    events.warning(HorizontalPodAutoscaler, autoscaler, 'FailedGetScale', errorMessage(error))
    const message = `the HPA controller was unable to get the target's current scale: ${errorMessage(error)}`
    status.set('AbleToScale', 'False', 'FailedGetScale', message)
    throw error
  })
  status.set('AbleToScale', 'True', 'SucceededGetScale', "the HPA controller was able to get the target's current scale")
  const current = target.scale.spec?.replicas ?? 0
  const { histories } = memoryOf(cache)
  const history = histories.get(key) ?? new History()
  histories.set(key, history)
  history.begin(current, clock.now())

  const desired = await desiredReplicas(autoscaler, target, history, resources, status, context).catch((error: unknown) => {
    status.count(current)
    throw error
  })
  if (desired === undefined || desired.replicas === current) {
    status.count(current, current, desired?.metrics)
  } else {
    await setReplicas(target, desired.replicas, client).catch((error: unknown) => {
      const message = `New size: ${desired.replicas}; reason: ${desired.reason}; error: ${errorMessage(error)}`
      events.warning(HorizontalPodAutoscaler, autoscaler, 'FailedRescale', message)
      status.set(
        'AbleToScale',
        'False',
        'FailedUpdateScale',
        `the HPA controller was unable to update the target scale: ${errorMessage(error)}`,
      )
      status.count(current, undefined, desired.metrics)
      throw error
    })
    status.set('AbleToScale', 'True', 'SucceededRescale', `the HPA controller was able to update the target scale to ${desired.replicas}`)
    const message = `New size: ${desired.replicas}; reason: ${desired.reason}`
    events.normal(HorizontalPodAutoscaler, autoscaler, 'SuccessfulRescale', message)
    const { behavior } = autoscaler.spec
    if (behavior !== undefined)
      history.changed(current, desired.replicas, clock.now(), desired.replicas > current ? behavior.scaleUp : behavior.scaleDown)
    status.count(current, desired.replicas, desired.metrics)
    status.scaled()
  }
  if (desired?.failure !== undefined) throw desired.failure
}

/** Undefined when it is not for the autoscaler to say: the target was set to nothing by somebody. */
async function desiredReplicas(
  autoscaler: V2HorizontalPodAutoscaler,
  target: ScaleTarget,
  history: History,
  resources: readonly DiscoveredResource[],
  status: StatusDraft,
  context: ReconcileContext,
): Promise<Desired | undefined> {
  const { minReplicas: least = 1, maxReplicas: most, behavior } = autoscaler.spec
  const current = target.scale.spec?.replicas ?? 0
  if (current === 0 && least !== 0) {
    status.set('ScalingActive', 'False', 'ScalingDisabled', 'scaling is disabled since the replica count of the target is zero')
    return undefined
  }
  if (current > most) return { replicas: most, reason: 'Current number of replicas above Spec.MaxReplicas', metrics: [] }
  if (current < least) return { replicas: least, reason: 'Current number of replicas below Spec.MinReplicas', metrics: [] }
  const measured = await measuredReplicas(autoscaler, target, resources, status, context)
  const { clock, settings } = context
  const nowMs = clock.now()
  const windowMs = settings.horizontalPodAutoscaler.downscaleStabilizationMs
  let stable: number
  let limited: Limited
  const bounds = { least, most }
  if (behavior === undefined) {
    stable = history.highestSince(measured.replicas, nowMs, windowMs)
    limited = limitedByDefault(stable, current, bounds)
  } else {
    const { scaleUp: up = {}, scaleDown: down = {} } = behavior
    const windowsMs = {
      up: (up.stabilizationWindowSeconds ?? 0) * 1000,
      down: down.stabilizationWindowSeconds === undefined ? windowMs : down.stabilizationWindowSeconds * 1000,
    }
    stable = history.stabilized(measured.replicas, current, nowMs, windowsMs)
    limited = history.limitedByPolicies(stable, current, bounds, { up, down }, nowMs)
  }
  const isUp = behavior !== undefined && measured.replicas >= current
  if (stable === measured.replicas) status.set('AbleToScale', 'True', 'ReadyForNewScale', 'recommended size matches current size')
  else if (isUp)
    status.set(
      'AbleToScale',
      'True',
      'ScaleUpStabilized',
      'recent recommendations were lower than current one, applying the lowest recent recommendation',
    )
  else
    status.set(
      'AbleToScale',
      'True',
      'ScaleDownStabilized',
      'recent recommendations were higher than current one, applying the highest recent recommendation',
    )
  status.set('ScalingLimited', limited.replicas === stable ? 'False' : 'True', limited.reason, limited.message)
  const reason = measured.replicas > current ? `${measured.name} above target` : 'All metrics below target'
  return { ...measured, replicas: limited.replicas, reason }
}

/** The most that any metric asks for. One that cannot be had keeps the target from getting smaller. */
async function measuredReplicas(
  autoscaler: V2HorizontalPodAutoscaler,
  { scale: target }: ScaleTarget,
  resources: readonly DiscoveredResource[],
  status: StatusDraft,
  context: ReconcileContext,
): Promise<{ replicas: number; name: string; metrics: V2MetricStatus[]; failure?: Error }> {
  const { client, clock, events, settings } = context
  const { cpuInitializationMs, initialReadinessDelayMs, tolerance } = settings.horizontalPodAutoscaler
  const { selector, pods } = selectedPods(autoscaler, target.status?.selector ?? '', status, context)
  const specReplicas = target.spec?.replicas ?? 0
  const asked = {
    autoscaler,
    client,
    resources,
    specReplicas,
    statusReplicas: target.status?.replicas ?? 0,
    selector,
    pods,
    tolerances: tolerancesOf(autoscaler, tolerance),
    readiness: { nowMs: clock.now(), cpuInitializationMs, initialReadinessDelayMs },
  }
  const metrics: V2MetricStatus[] = []
  const failures: MetricError[] = []
  let most = { replicas: 0, name: '' }
  const sources = autoscaler.spec.metrics ?? []
  for (const source of sources) {
    try {
      const proposal = await metricProposal(source, asked)
      metrics.push(proposal.status)
      if (most.replicas === 0 || proposal.replicas > most.replicas) most = proposal
    } catch (error) {
      if (!(error instanceof MetricError)) throw error
      events.warning(HorizontalPodAutoscaler, autoscaler, error.reason, error.detail)
      failures.push(error)
    }
  }
  const [first] = failures
  const failure =
    first === undefined
      ? undefined
      : new Error(`invalid metrics (${failures.length} invalid out of ${sources.length}), first error is: ${first.message}`)
  if (first !== undefined && failure !== undefined && (failures.length >= sources.length || most.replicas < specReplicas)) {
    status.set('ScalingActive', 'False', first.reason, `the HPA was unable to compute the replica count: ${first.detail}`)
    events.warning(HorizontalPodAutoscaler, autoscaler, 'FailedComputeMetricsReplicas', failure.message)
    throw failure
  }
  status.set('ScalingActive', 'True', 'ValidMetricFound', `the HPA was able to successfully calculate a replica count from ${most.name}`)
  return { replicas: most.replicas, name: most.name, metrics, ...defined({ failure }) }
}

/** Pods that two autoscalers look at would be counted by both. */
function selectedPods(
  autoscaler: V2HorizontalPodAutoscaler,
  text: string,
  status: StatusDraft,
  { cache, events, key }: ReconcileContext,
): { selector: LabelSelector; pods: readonly V1Pod[] } {
  const refuse = (event: string, reason: string, told: string, message = told): Error => {
    events.warning(HorizontalPodAutoscaler, autoscaler, event, told)
    status.set('ScalingActive', 'False', reason, message)
    return new Error(told)
  }
  if (text === '')
    throw refuse('SelectorRequired', 'InvalidSelector', 'selector is required', "the HPA target's scale is missing a selector")
  let selector: LabelSelector
  try {
    selector = parseLabelSelector(text)
  } catch (error) {
    const told = `couldn't convert selector into a corresponding internal selector object: ${errorMessage(error)}`
    throw refuse('InvalidSelector', 'InvalidSelector', told)
  }
  const { namespace = '' } = autoscaler.metadata
  const { selectors } = memoryOf(cache)
  selectors.set(key, selector)
  const pods = cache.list(Pod, namespace).filter(({ metadata }) => selector.matches(metadata.labels))
  for (const [other, theirs] of selectors) {
    if (other === key || !other.startsWith(`${namespace}/`)) continue
    if (!pods.some(({ metadata }) => theirs.matches(metadata.labels))) continue
    const told = `pods by selector ${text} are controlled by more than one HPA (e.g. [${[key, other].sort().join(' ')}])`
    throw refuse('AmbiguousSelector', 'AmbiguousSelector', told)
  }
  return { selector, pods }
}

async function writeStatus(
  autoscaler: V2HorizontalPodAutoscaler,
  status: V2HorizontalPodAutoscalerStatus,
  context: ReconcileContext,
): Promise<void> {
  if (JSON.stringify(autoscaler.status) === JSON.stringify(status)) return
  await context.client.updateStatus(HorizontalPodAutoscaler, { ...autoscaler, status }).catch((error: unknown) => {
    context.events.warning(HorizontalPodAutoscaler, autoscaler, 'FailedUpdateStatus', errorMessage(error))
    throw error
  })
}
