import { ConfigMap, Namespace, Node, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseLabelSelector } from '#api/meta/selector.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import { PriorityClass } from '#api/scheduling/v1/kinds.gen.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { Metrics } from '#base/metrics.ts'
import { evictableFilter, preEvictionFilter, systemCriticalPriority } from '#controllers/descheduler/default-evictor.ts'
import { Evictions } from '#controllers/descheduler/evictions.ts'
import { measurementsOf } from '#controllers/descheduler/measurements.ts'
import type { ClusterView, Measurements } from '#controllers/descheduler/plugin.ts'
import { type DeschedulerPolicy, type DeschedulerProfile, parsePolicy } from '#controllers/descheduler/policy.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineLoop, type LoopContext } from '#controllers/runtime/define-loop.ts'
import type { Controller } from '#controllers/runtime/environment.ts'

export type DeschedulerOptions = {
  policy: DeschedulerPolicy
  isDryRun: boolean
  intervalMs: number
  metrics: Metrics
  onRound?(): void
}

const name = 'descheduler'
const eventComponent = 'sigs.k8s.io/descheduler'
const reads = [Pod, Node, Namespace, PersistentVolumeClaim, PodDisruptionBudget]

/** Upstream's program: evicts pods that would be better off elsewhere, by a policy that stays as it is. */
export function descheduler({ policy, isDryRun, intervalMs, metrics, onRound }: DeschedulerOptions): Controller {
  const measured = metricsOf(metrics)
  return defineLoop({
    ...{ name, eventComponent, reads },
    periodMs: () => intervalMs,
    begin: (context) => async () => {
      await deschedule(policy, isDryRun, measured, context)
      onRound?.()
    },
  })
}

const policyPlace = { namespace: 'kube-system', name: 'descheduler' }
const policyKey = 'policy.yaml'
const periodMs = 300_000

/** The same by the policy in the config map `kube-system/descheduler`, which may change; without one nothing happens. */
export const configuredDescheduler: Controller = defineLoop({
  ...{ name, eventComponent, reads, serviceAccount: name },
  isOffByDefault: true,
  periodMs: () => periodMs,
  begin: (context) => {
    const measured = metricsOf(new Metrics())
    return async () => {
      const map = await context.client.get(ConfigMap, policyPlace.namespace, policyPlace.name).catch(ignoreNotFound)
      const text = map?.data?.[policyKey]
      if (text !== undefined) await deschedule(parsePolicy(text, policyKey), false, measured, context)
    }
  },
})

async function deschedule(policy: DeschedulerPolicy, isDryRun: boolean, measured: Measured, context: LoopContext): Promise<void> {
  const { client, clock, events, logger } = context
  const view = viewOf(policy, context)
  if (view.nodes.length <= 1) {
    logger.info('skipping descheduling cycle: requires >=2 nodes', { found: view.nodes.length })
    return
  }
  const begunMs = clock.monotonic()
  const evictions = new Evictions({ client, events, logger, policy, isDryRun, counters: measured.evicted })
  const isMeasured = policy.metricsCollector?.enabled || policy.metricsProviders?.some(({ source }) => source === 'KubernetesMetrics')
  const measurements = isMeasured ? () => measurementsOf(client) : undefined
  for (const point of ['deschedule', 'balance'] as const)
    for (const profile of policy.profiles)
      await runProfile(profile, point, { view, evictions, measured, context, ...defined({ measurements }) })
  for (const histogram of measured.loopSeconds) histogram.observe((clock.monotonic() - begunMs) / 1000)
  logger.info('number of evictions', { totalEvicted: evictions.total })
}

type Round = {
  view: ClusterView
  evictions: Evictions
  measured: Measured
  context: LoopContext
  measurements?: () => Promise<Measurements>
}

async function runProfile(
  profile: DeschedulerProfile,
  point: 'deschedule' | 'balance',
  { view, evictions, measured, context, measurements }: Round,
): Promise<void> {
  if (profile[point].length === 0) return
  const { clock, logger } = context
  const threshold = await thresholdOf(profile, context)
  const filters = { filter: evictableFilter(profile.evictor, view, threshold), preEvictionFilter: preEvictionFilter(profile.evictor, view) }
  for (const { plugin, args } of profile[point]) {
    const begunMs = clock.monotonic()
    try {
      const evict = (pod: V1Pod) => evictions.evict(pod, profile.name, plugin.name)
      await plugin.run(args, { view, ...filters, evict, ...defined({ measurements }) })
    } catch (error) {
      logger.warn('plugin finished with error', { plugin: plugin.name, profile: profile.name, error: errorMessage(error) })
    }
    const labels = { strategy: plugin.name, profile: profile.name }
    for (const histogram of measured.strategySeconds) histogram.observe((clock.monotonic() - begunMs) / 1000, labels)
  }
}

async function thresholdOf({ evictor: { priorityThreshold } }: DeschedulerProfile, { client }: LoopContext): Promise<number> {
  const { value, name: className } = priorityThreshold ?? {}
  if (value !== undefined) return value
  return className ? ((await client.get(PriorityClass, '', className)).value ?? 0) : systemCriticalPriority
}

function viewOf({ nodeSelector = '' }: DeschedulerPolicy, { cache, clock }: LoopContext): ClusterView {
  const selector = parseLabelSelector(nodeSelector)
  const pods = cache.list(Pod)
  const byNode = Map.groupBy(pods, ({ spec }) => spec.nodeName ?? '')
  const byOwner = new Map<string, (typeof pods)[number][]>()
  for (const pod of pods) {
    for (const { uid } of pod.metadata.ownerReferences ?? []) {
      const fellows = byOwner.get(uid)
      if (fellows === undefined) byOwner.set(uid, [pod])
      else fellows.push(pod)
    }
  }
  return {
    nodes: cache.list(Node).filter((node) => selector.matches(node.metadata.labels) && isNodeReady(node)),
    podsOn: (nodeName) => byNode.get(nodeName) ?? [],
    podsOwnedBy: (uid) => byOwner.get(uid) ?? [],
    namespace: (of) => cache.get(Namespace, '', of),
    claim: (namespace, of) => cache.get(PersistentVolumeClaim, namespace, of),
    budgets: (namespace) => budgetsIn(cache, namespace),
    nowMs: clock.now(),
  }
}

const budgetsIn = (cache: Cache, namespace: string) => cache.list(PodDisruptionBudget, namespace)

type Measured = ReturnType<typeof metricsOf>

/** Both the names that upstream has and those that it had. */
function metricsOf(metrics: Metrics) {
  const buckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100]
  const evicted = 'Pods that were evicted, by result, strategy, profile, namespace and node'
  return {
    evicted: ['pods_evicted', 'pods_evicted_total'].map((metric) => metrics.counter(`descheduler_${metric}`, evicted)),
    loopSeconds: ['descheduler_loop_duration_seconds', 'loop_duration_seconds'].map((metric) =>
      metrics.histogram(`descheduler_${metric}`, 'How long a whole round takes', [...buckets, 250, 500]),
    ),
    strategySeconds: ['descheduler_strategy_duration_seconds', 'strategy_duration_seconds'].map((metric) =>
      metrics.histogram(`descheduler_${metric}`, 'How long each strategy takes', buckets),
    ),
  }
}
