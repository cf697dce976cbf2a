/** Notices nodes that have gone silent, says so, and clears them of pods, not too many at a time. */
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound, isConflict, isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import { TokenBucket } from '#client/work-queue/rate-limiter.ts'
import { NodeHealth } from '#controllers/node-lifecycle/node-health.ts'
import { nodeMetrics, tellZones } from '#controllers/node-lifecycle/node-metrics.ts'
import {
  hasTaints,
  presentNoExecuteKeys,
  readyStatus,
  wantedNoExecuteKey,
  wantedNoScheduleKeys,
  writeTaints,
} from '#controllers/node-lifecycle/taints.ts'
import { areAllDown, evictionRates, zoneOf, zoneStates } from '#controllers/node-lifecycle/zones.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { defineLoop, type LoopContext } from '#controllers/runtime/define-loop.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { togetherAs } from '#controllers/runtime/together-as.ts'
import { podCondition } from '#controllers/workload/pods.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

const name = 'node-lifecycle-controller'
const names = { name, alias: 'nodelifecycle', serviceAccount: 'node-controller' }

/** What a node says of itself is written into taints and labels at once; those that drive pods away are left as they are here. */
const noScheduleTaints = defineController({
  ...names,
  alias: 'node_lifecycle_controller',
  for: Node,
  ignores: (next, prev) => prev !== undefined && tainting(next) === tainting(prev),

  async reconcile(node, { client, clock }) {
    const wanted = (each: V1Node) => ({
      noSchedule: wantedNoScheduleKeys(each),
      // A node that is well again is let alone at once; driving away waits for its turn.
      noExecute: wantedNoExecuteKey(each) === undefined ? undefined : presentNoExecuteKeys(each)[0],
    })
    if (!hasTaints(node, wanted(node))) await writeTaints(client, clock, node.metadata.name ?? '', wanted)
    const labels = missingOldLabels(node)
    if (Object.keys(labels).length > 0) await client.patch(Node, node.metadata, { metadata: { labels } })
  },
})

/** What was beta once says the same as what took its place. */
const oldLabels: Readonly<Record<string, string>> = {
  'kubernetes.io/os': 'beta.kubernetes.io/os',
  'kubernetes.io/arch': 'beta.kubernetes.io/arch',
}

function missingOldLabels({ metadata: { labels = {} } }: V1Node): Record<string, string> {
  const missing: Record<string, string> = {}
  for (const [name, old] of Object.entries(oldLabels)) {
    const value = labels[name]
    if (value !== undefined && labels[old] !== value) missing[old] = value
  }
  return missing
}

function tainting(node: V1Node): string {
  const { spec, status } = node
  return sortedJson([
    missingOldLabels(node),
    spec?.taints ?? [],
    spec?.unschedulable ?? false,
    (status?.conditions ?? []).map(({ type, status: value }) => [type, value]),
  ])
}

const monitor = defineLoop({
  ...names,
  reads: [Node, Lease, Pod],
  periodMs: ({ nodeMonitorPeriodMs }) => nodeMonitorPeriodMs,

  begin(context) {
    const { cache, clock, settings, events } = context
    const health = new NodeHealth(cache, settings)
    const known = new Set<string>()
    const wasReady = new Map<string, boolean>()
    const buckets = new Map<string, { rate: number; bucket: TokenBucket }>()
    const bucketOf = (zone: string, rate: number) => {
      const entry = buckets.get(zone)
      if (entry?.rate === rate) return entry.bucket
      const bucket = new TokenBucket(clock, { perSecond: rate, burst: 1 })
      buckets.set(zone, { rate, bucket })
      return bucket
    }
    return async () => {
      const nowMs = clock.now()
      const nodes: V1Node[] = []
      noteComings(known, context)
      health.forget(known)
      const { nodeSeconds, allSeconds } = nodeMetrics(context)
      const startMs = clock.monotonic()
      for (const node of cache.list(Node)) {
        const nodeStartMs = clock.monotonic()
        nodes.push(await validated(node, health, nowMs, context))
        nodeSeconds.observe((clock.monotonic() - nodeStartMs) / 1000)
      }
      for (const node of nodes) {
        const isReady = readyStatus(node) === 'True'
        const nodeName = node.metadata.name ?? ''
        if (wasReady.get(nodeName) !== false && !isReady) {
          if (wasReady.get(nodeName)) events.normal(Node, node, 'NodeNotReady', `Node ${nodeName} status is now: NodeNotReady`)
          await markPodsNotReady(nodeName, context)
        }
        wasReady.set(nodeName, isReady)
      }
      allSeconds.observe((clock.monotonic() - startMs) / 1000)
      const zones = zoneStates(nodes, settings)
      tellZones(zones, context)
      if (areAllDown(zones)) return spareAll(nodes, context)
      const rates = evictionRates(zones, settings)
      for (const node of nodes) await driveAway(node, rates.get(zoneOf(node)) ?? 0, bucketOf, context)
    }
  },
})

function noteComings(known: Set<string>, { cache, events }: LoopContext): void {
  const present = new Set(cache.list(Node).map(({ metadata }) => metadata.name ?? ''))
  for (const node of cache.list(Node)) {
    const nodeName = node.metadata.name ?? ''
    if (known.has(nodeName)) continue
    known.add(nodeName)
    events.normal(Node, node, 'RegisteredNode', `Node ${nodeName} event: Registered Node ${nodeName} in Controller`)
  }
  for (const nodeName of known) {
    if (present.has(nodeName)) continue
    known.delete(nodeName)
    const reference = { kind: 'Node', apiVersion: 'v1', name: nodeName, uid: nodeName }
    events.recordFor(reference, 'Normal', 'RemovingNode', `Node ${nodeName} event: Removing Node ${nodeName} from Controller`)
  }
}

/** The node as it should be seen now: with unknown conditions when it has not spoken for too long. */
async function validated(node: V1Node, health: NodeHealth, nowMs: number, { client, logger }: LoopContext): Promise<V1Node> {
  const conditions = health.overdueConditions(node, nowMs)
  if (conditions === undefined || sortedJson(conditions) === sortedJson(node.status?.conditions ?? [])) return node
  const next = { ...node, status: { ...node.status, conditions } }
  try {
    return await client.updateStatus(Node, next)
  } catch (error) {
    // It may have spoken this very moment; the next round knows.
    if (!isConflict(error) && !isNotFound(error))
      logger.warn('failed to update the Ready condition of an unresponsive node', { node: node.metadata.name, error: String(error) })
    return node
  }
}

async function markPodsNotReady(nodeName: string, { cache, client, clock, events }: LoopContext): Promise<void> {
  for (const pod of cache.list(Pod)) {
    if (pod.spec.nodeName !== nodeName || podCondition(pod, 'Ready')?.status !== 'True') continue
    const condition = { type: 'Ready', status: 'False', lastTransitionTime: formatTime(clock.now()) }
    try {
      await client.patch(
        Pod,
        pod.metadata,
        { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } },
        { subresource: 'status' },
      )
      events.warning(Pod, pod, 'NodeNotReady', 'Node is not ready')
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

/** Takes back what would drive pods away. */
async function spareAll(nodes: readonly V1Node[], { client, clock }: LoopContext): Promise<void> {
  for (const node of nodes) {
    if (presentNoExecuteKeys(node).length === 0) continue
    const wanted = (each: V1Node) => ({ noSchedule: wantedNoScheduleKeys(each), noExecute: undefined })
    await writeTaints(client, clock, node.metadata.name ?? '', wanted).catch(ignoreNotFound)
  }
}

/** Taints the node so that its pods leave, when its zone has a turn left; a node that is well loses the taint in any case. */
async function driveAway(
  node: V1Node,
  rate: number,
  bucketOf: (zone: string, rate: number) => TokenBucket,
  context: LoopContext,
): Promise<void> {
  const { client, clock } = context
  const wanted = wantedNoExecuteKey(node)
  const present = presentNoExecuteKeys(node)
  if (present.length === (wanted === undefined ? 0 : 1) && present[0] === wanted) return
  // One that is tainted already only changes its taint, which costs no turn.
  if (wanted !== undefined && present.length === 0 && (rate <= 0 || !bucketOf(zoneOf(node), rate).tryTake())) return
  await writeTaints(client, clock, node.metadata.name ?? '', (each) => ({
    noSchedule: wantedNoScheduleKeys(each),
    noExecute: wantedNoExecuteKey(each),
  })).catch(ignoreNotFound)
  if (wanted !== undefined && present.length === 0) nodeMetrics(context).evictions.inc({ zone: zoneOf(node) })
}

export const nodeLifecycleController: Controller = togetherAs(names, [noScheduleTaints, monitor])
