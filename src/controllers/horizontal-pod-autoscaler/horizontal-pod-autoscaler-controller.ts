import { HorizontalPodAutoscaler } from '#api/autoscaling/v2/kinds.gen.ts'
import type { V2HorizontalPodAutoscaler, V2HorizontalPodAutoscalerStatus, V2MetricStatus } from '#api/autoscaling/v2/types.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { type LabelSelector, parseLabelSelector } from '#api/meta/selector.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { inTurns } from '#base/in-turns.ts'
import type { Steps } from '#base/steps.ts'
import { type DiscoveredResource, discover } from '#client/discovery.ts'
import { type Action, AutoscalerMetrics } from '#controllers/horizontal-pod-autoscaler/autoscaler-metrics.ts'
import { heapster } from '#controllers/horizontal-pod-autoscaler/heapster.ts'
import { History, type Limited, limitedByDefault } from '#controllers/horizontal-pod-autoscaler/history.ts'
import { MetricError, metricProposal, tolerancesOf } from '#controllers/horizontal-pod-autoscaler/metric-proposal.ts'
import { metricsApis } from '#controllers/horizontal-pod-autoscaler/metrics-apis.ts'
import { type ScaleTarget, SpecError, scaleTarget, setReplicas } from '#controllers/horizontal-pod-autoscaler/scale-target.ts'
import { StatusDraft } from '#controllers/horizontal-pod-autoscaler/status-draft.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'

const name = 'horizontal-pod-autoscaler-controller'

const names = { name, alias: 'horizontalpodautoscaling', serviceAccount: 'horizontal-pod-autoscaler' }

/** Makes workloads larger and smaller, so that what is measured of them stays near its target. */
export const horizontalPodAutoscalerController: Controller = {
  ...names,
  start: (environment) => autoscaling(new AutoscalerMetrics(environment.metrics.metrics)).start(environment),
}

type Context = ReconcileContext & { readonly metrics: AutoscalerMetrics }

const autoscaling = (metrics: AutoscalerMetrics): Controller =>
  defineController({
    ...names,
    queueName: 'horizontalpodautoscaler',
    for: HorizontalPodAutoscaler,
    reads: [Pod],
    batchMs: 15_000,

    async reconcile(autoscaler, given) {
      const context = { ...given, metrics }
      const { settings, requeueAfter, logger, key, clock } = context
      const status = new StatusDraft(autoscaler, clock)
      const startedMs = clock.monotonic()
      // Measurements change without anybody telling: failures wait for the next round like everything else.
      requeueAfter(settings.horizontalPodAutoscaler.syncPeriodMs)
      try {
        const action = await scale(autoscaler, status, context)
        metrics.round(action, 'none', clock.monotonic() - startedMs)
      } catch (error) {
        metrics.round('none', error instanceof SpecError ? 'spec' : 'internal', clock.monotonic() - startedMs)
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
      metrics.forget(key)
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

async function scale(autoscaler: V2HorizontalPodAutoscaler, status: StatusDraft, context: Context): Promise<Action> {
  const { client, clock, events, cache, key, metrics } = context
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
  let action: Action = 'none'
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
    tellOfZero(autoscaler, current, desired.replicas, status, context)
    action = desired.replicas > current ? 'scale_up' : 'scale_down'
  }
  metrics.desired(key, desired?.replicas ?? current)
  if (desired?.failure !== undefined) throw desired.failure
  return action
}

const zeroGate = 'HPAScaleToZero'

const scalesFromZero = ({ spec }: V2HorizontalPodAutoscaler): boolean =>
  (spec.metrics ?? []).some(({ type }) => type === 'Object' || type === 'External')

/** A target that the autoscaler itself made empty may be filled by it again; one that somebody emptied may not. */
function tellOfZero(
  autoscaler: V2HorizontalPodAutoscaler,
  from: number,
  to: number,
  status: StatusDraft,
  { settings }: ReconcileContext,
): void {
  if (!settings.isEnabled(zeroGate)) status.remove('ScaledToZero')
  else if (from > 0 && to === 0 && autoscaler.spec.minReplicas === 0 && scalesFromZero(autoscaler))
    status.set('ScaledToZero', 'True', 'ScaledToZero', 'the HPA controller scaled the workload to zero')
  else status.set('ScaledToZero', 'False', 'NotScaledToZero', 'the HPA controller did not scale the workload to zero')
}

/** Undefined when it is not for the autoscaler to say: the target was set to nothing by somebody. */
async function desiredReplicas(
  autoscaler: V2HorizontalPodAutoscaler,
  target: ScaleTarget,
  history: History,
  resources: readonly DiscoveredResource[],
  status: StatusDraft,
  context: Context,
): Promise<Desired | undefined> {
  const { minReplicas: least = 1, maxReplicas: most, behavior } = autoscaler.spec
  const current = target.scale.spec?.replicas ?? 0
  const belowLeast = 'Current number of replicas below Spec.MinReplicas'
  if (current === 0) {
    const isOwnZero = context.settings.isEnabled(zeroGate) && status.is('ScaledToZero')
    if (!isOwnZero || (least === 0 && !scalesFromZero(autoscaler))) {
      status.set('ScalingActive', 'False', 'ScalingDisabled', 'scaling is disabled since the replica count of the target is zero')
      if (!context.settings.isEnabled(zeroGate)) status.remove('ScaledToZero')
      return undefined
    }
  } else {
    if (current > most) return { replicas: most, reason: 'Current number of replicas above Spec.MaxReplicas', metrics: [] }
    if (current < least) return { replicas: least, reason: belowLeast, metrics: [] }
  }
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
  if (current === 0 && measured.replicas === 0) return { ...measured, replicas: Math.max(least, limited.replicas), reason: belowLeast }
  const reason = measured.replicas > current ? `${measured.name} above target` : 'All metrics below target'
  return { ...measured, replicas: limited.replicas, reason }
}

/** The most that any metric asks for. One that cannot be had keeps the target from getting smaller. */
async function measuredReplicas(
  autoscaler: V2HorizontalPodAutoscaler,
  { scale: target }: ScaleTarget,
  resources: readonly DiscoveredResource[],
  status: StatusDraft,
  context: Context,
): Promise<{ replicas: number; name: string; metrics: V2MetricStatus[]; failure?: Error }> {
  const { client, clock, events, settings, metrics: recorder } = context
  const { usesHeapster, cpuInitializationMs, initialReadinessDelayMs, tolerance } = settings.horizontalPodAutoscaler
  const { selector, pods } = await inTurns(selectedPods(autoscaler, target.status?.selector ?? '', status, context), clock)
  const specReplicas = target.spec?.replicas ?? 0
  const asked = {
    autoscaler,
    source: usesHeapster ? heapster({ client, clock }) : metricsApis(client),
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
    const startedMs = clock.monotonic()
    try {
      const proposal = await metricProposal(source, asked)
      recorder.computation(actionOf(proposal.replicas - specReplicas), 'none', source.type, clock.monotonic() - startedMs)
      metrics.push(proposal.status)
      if (most.replicas === 0 || proposal.replicas > most.replicas) most = proposal
    } catch (error) {
      if (!(error instanceof MetricError)) throw error
      recorder.computation('none', 'internal', source.type, clock.monotonic() - startedMs)
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

const actionOf = (difference: number): Action => {
  if (difference === 0) return 'none'
  return difference > 0 ? 'scale_up' : 'scale_down'
}

/** Pods that two autoscalers look at would be counted by both. */
function* selectedPods(
  autoscaler: V2HorizontalPodAutoscaler,
  text: string,
  status: StatusDraft,
  { cache, events, key }: ReconcileContext,
): Steps<{ selector: LabelSelector; pods: readonly V1Pod[] }> {
  const refuse = (event: string, reason: string, eventMessage: string, message = eventMessage): Error => {
    events.warning(HorizontalPodAutoscaler, autoscaler, event, eventMessage)
    status.set('ScalingActive', 'False', reason, message)
    return new Error(eventMessage)
  }
  if (text === '')
    throw refuse('SelectorRequired', 'InvalidSelector', 'selector is required', "the HPA target's scale is missing a selector")
  let selector: LabelSelector
  try {
    selector = parseLabelSelector(text)
  } catch (error) {
    const message = `couldn't convert selector into a corresponding internal selector object: ${errorMessage(error)}`
    throw refuse('InvalidSelector', 'InvalidSelector', message)
  }
  const { namespace = '' } = autoscaler.metadata
  const { selectors } = memoryOf(cache)
  selectors.set(key, selector)
  const pods = cache.list(Pod, namespace).filter(({ metadata }) => selector.matches(metadata.labels))
  for (const [other, theirs] of selectors) {
    if (other === key || !other.startsWith(`${namespace}/`)) continue
    // Each autoscaler of the namespace with each pod: others have their turn in between.
    yield
    if (!pods.some(({ metadata }) => theirs.matches(metadata.labels))) continue
    const message = `pods by selector ${text} are controlled by more than one HPA (e.g. [${[key, other].sort().join(' ')}])`
    throw refuse('AmbiguousSelector', 'AmbiguousSelector', message)
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
