/** A recorded day of a web site on simulated nodes in virtual time: three autoscalers follow its load, each by its own means. */
import { Job } from '#api/batch/v1/kinds.gen.ts'
import { Event, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { parseTime } from '#api/meta/time.ts'
import { silentLogger } from '#base/log.ts'
import { Client } from '#client/client.ts'
import type { Transport } from '#client/transport.ts'
import { defaultAutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { AutoscaledCluster } from '#cluster-autoscaler/testing/autoscaled-cluster.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { startVerticalAutoscaler } from '#controllers/vertical-pod-autoscaler/start-vertical-autoscaler.ts'
import { Deployment } from '#index.ts'
import type { FakeCluster } from '#testing/fake-cluster.ts'
import { recordedLoad } from './recorded-load.ts'
import { measured, nightlyReports, openSite, siteNamespace, withoutLeases } from './web-site.ts'

/** As it was at the end of a step. */
export type DaySample = {
  readonly minute: number
  /** Requests a second. */
  readonly load: number
  readonly replicas: number
  readonly readyReplicas: number
  readonly nodes: Readonly<Record<string, number>>
}

export type Day = {
  readonly samples: readonly DaySample[]
  /** From its creation until it had a node, of each pod. */
  readonly waitSeconds: readonly number[]
  /** What the nodes cost, and what those of the dearest moment would have cost all day. */
  readonly cost: number
  readonly costAtPeak: number
  /** By reason, how often. */
  readonly events: ReadonlyMap<string, number>
  /** What the pods of the site ask for at the end. */
  readonly memoryRequests: readonly string[]
  readonly unplaced: number
}

export const dayGroups = [
  { name: 'small', price: 0.1, text: '1:12:small,cpu=4,memory=8Gi,price=0.1' },
  { name: 'big', price: 0.4, text: '0:3:big,cpu=16,memory=32Gi,price=0.4,label=purpose=reports,taint=purpose=reports:NoSchedule' },
] as const
/** How long a machine takes until its node registers. */
const bootMs = 60_000
/** How long a node is not needed before it goes, and nothing goes after one has come. */
const patienceMs = 600_000
const stepMinutes = 5
const hours = 24
const controllers = ['deployment', 'replicaset', 'job', 'disruption', 'horizontalpodautoscaling']

/**
 * `pace`: so many times as fast. All that has a length of its own is shorter by as much: the boot of machines, the rounds, pauses and
 * patience of the autoscalers. What is told in seconds and minutes is in those of the day.
 */
export async function autoscalingDay({ seed = 1, pace = 1 } = {}): Promise<Day> {
  let cluster: FakeCluster | undefined
  const startMs = Date.parse('2026-01-01T00:00:00Z') + bootMs / pace + 15_000
  const minute = () => Math.max(0, (((cluster?.clock.now() ?? startMs) - startMs) * pace) / 60_000)
  const measuring = (transport: Transport): Transport => {
    let road: Transport | undefined
    return {
      send(request) {
        if (cluster === undefined) return transport.send(request)
        const { clock, server } = cluster
        road ??= measured(transport, { clock, minute, pods: () => server.server.cluster.list(Pod) })
        return road.send(request)
      },
    }
  }
  await using world = await AutoscaledCluster.start({
    groups: dayGroups.map(({ text }) => text),
    startMs: bootMs / pace,
    seed,
    controllers,
    options: {
      scanIntervalMs: 40_000 / pace,
      scaleDownDelayAfterAddMs: patienceMs / pace,
      unremovableNodeRecheckMs: patienceMs / 2 / pace,
      nodeDeleteDelayAfterTaintMs: 6000 / pace,
      group: { ...defaultAutoscalerOptions.group, scaleDownUnneededMs: patienceMs / pace },
      writesStatus: false,
    },
    settings: {
      horizontalPodAutoscaler: {
        ...defaultSettings.horizontalPodAutoscaler,
        syncPeriodMs: 90_000 / pace,
        downscaleStabilizationMs: 300_000 / pace,
        initialReadinessDelayMs: 30_000 / pace,
        cpuInitializationMs: 300_000 / pace,
      },
    },
    enableAdmissionPlugins: ['VerticalPodAutoscaler'],
    controllersThrough: measuring,
    nodesThrough: withoutLeases,
  })
  cluster = world.cluster
  const { clock, random, client } = cluster
  await using vertical = new AsyncDisposableStack()
  const ended = new AbortController()
  vertical.defer(() => ended.abort())
  const transport = measuring(cluster.transportAs('system:serviceaccount:kube-system:vpa-recommender', ['system:masters']))
  const as = new Client({ transport, userAgent: 'vpa' })
  await clock.during(startVerticalAutoscaler(vertical, { client: as, clock, random, logger: silentLogger, signal: ended.signal }))
  await openSite(client)

  const samples: DaySample[] = []
  const waits = new Map<string, number>()
  const events = new Map<string, { reason: string; count: number }>()
  let cost = 0
  for (let minutes = stepMinutes; minutes <= hours * 60; minutes += stepMinutes) {
    if (minutes === 2 * 60) await client.create(Job, nightlyReports((40 * 60) / pace))
    await clock.advance({ minutes: stepMinutes / pace })
    const objects = cluster.server.server.cluster
    const sizes = await world.sizes()
    for (const { name, price } of dayGroups) cost += ((sizes[name] ?? 0) * price * stepMinutes) / 60
    for (const pod of objects.list(Pod)) noteWait(pod, waits)
    for (const { metadata, reason = '', count = 1 } of objects.list(Event)) events.set(metadata.uid ?? '', { reason, count })
    const { spec, status } = await client.get(Deployment, siteNamespace, 'web')
    const nodes = Object.fromEntries(dayGroups.map(({ name }) => [name, sizes[name] ?? 0]))
    const replicas = spec.replicas ?? 0
    samples.push({ minute: minutes, load: recordedLoad(minutes), replicas, readyReplicas: status?.readyReplicas ?? 0, nodes })
  }
  const pods = (await cluster.list(Pod, siteNamespace)).filter(({ metadata }) => metadata.labels?.['app'] === 'web')
  const counts = new Map<string, number>()
  for (const { reason, count } of events.values()) counts.set(reason, (counts.get(reason) ?? 0) + count)
  const priceOf = (nodes: Readonly<Record<string, number>>) =>
    dayGroups.reduce((sum, { name, price }) => sum + (nodes[name] ?? 0) * price, 0)
  const day: Day = {
    samples,
    waitSeconds: [...waits.values()].map((seconds) => seconds * pace),
    cost,
    costAtPeak: Math.max(...samples.map(({ nodes }) => priceOf(nodes))) * hours,
    events: counts,
    memoryRequests: pods.map(({ spec }) => spec.containers[0]?.resources?.requests?.['memory'] ?? ''),
    unplaced: pods.filter(({ spec }) => !spec.nodeName).length,
  }
  ended.abort()
  await clock.during(vertical.disposeAsync())
  return day
}

function noteWait({ metadata, status }: V1Pod, waits: Map<string, number>): void {
  const placed = findCondition(status?.conditions ?? [], 'PodScheduled')
  if (placed?.status !== 'True' || !placed.lastTransitionTime || !metadata.creationTimestamp) return
  waits.set(metadata.uid ?? '', (parseTime(placed.lastTransitionTime) - parseTime(metadata.creationTimestamp)) / 1000)
}
