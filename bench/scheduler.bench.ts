/** How many pods a second get a node, in one process, with nodes that only exist in the cache. */
import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { defaultConfiguration } from '#scheduler/config/configuration.ts'
import type { SchedulerClient } from '#scheduler/framework/plugin-handle.ts'
import { Scheduler } from '#scheduler/scheduler.ts'
import { aNode, aPod, byLabel, type PodWords } from '#scheduler/testing/objects.ts'
import type { Bench } from '../scripts/bench.ts'

const zone = 'topology.kubernetes.io/zone'

type Workload = {
  name: string
  nodes: number
  pods: number
  zones?: number
  /** Pods a second that must be reached. */
  wanted?: number
  /** Placed before the clock starts. */
  existing?: (index: number, nodes: number) => V1Pod
  existingCount?: number
  pod(index: number): V1Pod
  nodeCpu?: string
}

const spread = (whenUnsatisfiable: string, app: string): Partial<V1PodSpec> => ({
  topologySpreadConstraints: [{ topologyKey: zone, maxSkew: 5, whenUnsatisfiable, labelSelector: { matchLabels: { app } } }],
})
const small: PodWords = { cpu: '100m', memory: '500Mi' }
const plain = (index: number) => aPod(`p${index}`, small)

const workloads: Workload[] = [
  { name: 'plain pods', nodes: 5000, pods: 10_000, wanted: 2000, pod: plain },
  {
    name: 'required anti-affinity by zone',
    nodes: 5000,
    pods: 10_000,
    zones: 10,
    wanted: 500,
    // Ten pods a group, one for each zone: as many as can be placed.
    pod: (index) =>
      aPod(`p${index}`, {
        ...small,
        labels: { group: `g${Math.floor(index / 10)}` },
        apartFrom: byLabel({ group: `g${Math.floor(index / 10)}` }),
      }),
  },
  {
    name: 'required anti-affinity by host, one group',
    nodes: 5000,
    pods: 5000,
    wanted: 500,
    pod: (index) => aPod(`p${index}`, { ...small, labels: { app: 'a' }, apartFrom: byLabel({ app: 'a' }, 'kubernetes.io/hostname') }),
  },
  {
    name: 'required affinity by zone, one group',
    nodes: 5000,
    pods: 10_000,
    zones: 3,
    wanted: 500,
    pod: (index) => aPod(`p${index}`, { ...small, labels: { app: 'a' }, near: byLabel({ app: 'a' }) }),
  },
  {
    name: 'topology spread by zone, required',
    nodes: 5000,
    pods: 10_000,
    zones: 3,
    wanted: 500,
    pod: (index) => aPod(`p${index}`, { ...small, labels: { app: 'a' }, spec: spread('DoNotSchedule', 'a') }),
  },
  {
    name: 'topology spread by zone, preferred',
    nodes: 5000,
    pods: 10_000,
    zones: 3,
    wanted: 500,
    pod: (index) => aPod(`p${index}`, { ...small, labels: { app: 'a' }, spec: spread('ScheduleAnyway', 'a') }),
  },
  {
    name: 'preemption of low-priority pods',
    nodes: 1000,
    pods: 1000,
    wanted: 100,
    nodeCpu: '4',
    existingCount: 4000,
    existing: (index, nodes) =>
      aPod(`low${index}`, { cpu: '900m', memory: '500Mi', priority: 0, on: `n${index % nodes}`, startTime: '2026-01-01T00:00:00Z' }),
    pod: (index) => aPod(`p${index}`, { cpu: '3', memory: '500Mi', priority: 100 }),
  },
  ...[100, 1000, 5000, 10_000].map((nodes): Workload => ({ name: 'plain pods', nodes, pods: 2000, pod: plain, nodeCpu: '40' })),
]

/** Writes come back as the watch would bring them, in the next turn. */
function loopback(pods: Map<string, V1Pod>, observe: (before: V1Pod, after: V1Pod | undefined) => void): SchedulerClient {
  const current = ({ metadata }: V1Pod) => pods.get(metadata.uid ?? '') as V1Pod
  const change = (pod: V1Pod, after: V1Pod) => {
    const before = current(pod)
    pods.set(after.metadata.uid ?? '', after)
    observe(before, after)
  }
  const unused = () => Promise.reject(new Error('not used here'))
  return {
    bind: async (pod, nodeName) => {
      await Promise.resolve()
      change(pod, { ...current(pod), spec: { ...current(pod).spec, nodeName } })
    },
    patchPodStatus: async (pod, { nominatedNodeName }) => {
      if (nominatedNodeName !== undefined) change(pod, { ...current(pod), status: { ...current(pod).status, nominatedNodeName } })
    },
    deletePod: async (pod) => {
      const before = current(pod)
      pods.delete(pod.metadata.uid ?? '')
      observe(before, undefined)
    },
    updateVolume: unused,
    updateClaim: unused,
    updateResourceClaim: unused,
    updateResourceClaimStatus: unused,
    removeReservation: unused,
    recordEvent() {},
    isNotFound: () => false,
  }
}

async function measured({ nodes, pods: count, zones = 3, existing, existingCount = 0, pod, nodeCpu = '32' }: Workload): Promise<number> {
  const pods = new Map<string, V1Pod>()
  let bound = 0
  const { promise: allBound, resolve } = Promise.withResolvers<void>()
  const client = loopback(pods, (before, after) => {
    scheduler.observe('Pod', before, after)
    if (!before.spec.nodeName && after?.spec.nodeName && ++bound === count) resolve()
  })
  const scheduler = new Scheduler({
    client,
    clock: systemClock,
    random: seededRandom(1),
    logger: silentLogger,
    configuration: defaultConfiguration(),
  })
  for (let index = 0; index < nodes; index++) {
    scheduler.observe('Node', undefined, aNode(`n${index}`, { cpu: nodeCpu, memory: '256Gi', zone: `z${index % zones}` }))
  }
  const create = (made: V1Pod) => {
    pods.set(made.metadata.uid ?? '', made)
    scheduler.observe('Pod', undefined, made)
  }
  for (let index = 0; index < existingCount; index++) if (existing) create(existing(index, nodes))
  for (let index = 0; index < count; index++) create(pod(index))
  const startMs = performance.now()
  const stop = new AbortController()
  const running = scheduler.run(stop.signal)
  await allBound
  const tookMs = performance.now() - startMs
  stop.abort()
  await running
  return (count * 1000) / tookMs
}

export default async function schedulerBench(bench: Bench): Promise<void> {
  for (const workload of workloads) {
    const perSecond = await measured(workload)
    const name = `scheduler: ${workload.name}, ${workload.nodes} nodes`
    if (workload.wanted === undefined) bench.report({ case: name, figure: 1000 / perSecond, unit: 'ms/pod' })
    else bench.report({ case: name, figure: perSecond, unit: 'pods/s', comparedWith: 'wanted', ratio: perSecond / workload.wanted })
  }
}
