import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { History, limitedByDefault } from '#controllers/horizontal-pod-autoscaler/history.ts'
import { podRequests } from '#controllers/horizontal-pod-autoscaler/pod-requests.ts'
import {
  type PodMetric,
  replicasForAverage,
  replicasForShare,
  replicasForTotal,
  replicasForUtilization,
} from '#controllers/horizontal-pod-autoscaler/replica-calculator.ts'

const nowMs = Date.parse('2026-01-01T12:00:00Z')
const readiness = { nowMs, cpuInitializationMs: 120_000, initialReadinessDelayMs: 10_000 }
const tolerances = { down: 0.1, up: 0.1 }

type Sort = 'ready' | 'pending' | 'failed' | 'deleting' | 'starting' | 'never ready' | 'was ready'

function aPod(name: string, sort: Sort): V1Pod {
  const startedMs = sort === 'starting' ? nowMs - 30_000 : nowMs - 600_000
  const changedMs = sort === 'never ready' ? startedMs + 5000 : sort === 'was ready' ? startedMs + 60_000 : startedMs
  const isReady = sort === 'ready' || sort === 'deleting'
  return {
    metadata: { namespace: 'x', name, ...defined({ deletionTimestamp: sort === 'deleting' ? formatTime(nowMs) : undefined }) },
    spec: { containers: [{ name: 'main', image: 'a', resources: { requests: { cpu: '1' } } }] },
    status: {
      phase: sort === 'pending' ? 'Pending' : sort === 'failed' ? 'Failed' : 'Running',
      startTime: formatTime(startedMs),
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: formatTime(changedMs) }],
    },
  }
}

/** A number is what the pod uses; undefined is a pod of which nothing is known. */
type Row = {
  title: string
  pods: [Sort, number | undefined][]
  target: number
  current?: number
  resource?: string
  expected: number | RegExp
}

function asked({ pods, current = pods.length, resource = 'cpu' }: Row) {
  const made = pods.map(([sort], index) => aPod(`p${index}`, sort))
  const metrics = new Map<string, PodMetric>()
  for (const [index, [, value]] of pods.entries())
    if (value !== undefined) metrics.set(`p${index}`, { value, timestampMs: nowMs, windowMs: 30_000 })
  return { currentReplicas: current, pods: made, metrics, resource, tolerances, readiness }
}
const ready = (...values: (number | undefined)[]): [Sort, number | undefined][] => values.map((value) => ['ready', value])

/** Of pods that request one CPU each; the target is in percent. */
const utilizations: Row[] = [
  { title: 'twice the target doubles', pods: ready(200, 200, 200), target: 10, expected: 6 },
  { title: 'half of the target halves', pods: ready(500, 500, 500, 500), target: 100, expected: 2 },
  { title: 'what is left over counts whole', pods: ready(300, 500, 700), target: 30, expected: 5 },
  { title: 'at the upper edge of the tolerance nothing happens', pods: ready(1100, 1100), target: 100, expected: 2 },
  { title: 'just beyond it something does', pods: ready(1110, 1110), target: 100, expected: 3 },
  { title: 'at the lower edge nothing happens', pods: ready(900, 900, 900, 900, 900), target: 100, expected: 5 },
  { title: 'just beyond it something does', pods: ready(...Array<number>(20).fill(890)), target: 100, expected: 18 },
  { title: 'pods that start count as nothing on the way up', pods: [['starting', 900], ...ready(500, 700)], target: 30, expected: 4 },
  { title: 'and do not turn the direction', pods: [['pending', undefined], ['starting', 900], ...ready(400)], target: 30, expected: 3 },
  { title: 'pods that were never ready count as nothing', pods: [['never ready', 900], ...ready(500, 700)], target: 30, expected: 4 },
  { title: 'pods that were ready before count', pods: [['was ready', 900], ...ready(500, 700)], target: 30, expected: 7 },
  {
    title: 'pods that failed or go away do not count',
    pods: [['failed', 900], ['deleting', 900], ...ready(500, 700)],
    target: 50,
    expected: 3,
  },
  { title: 'missing ones use nothing on the way up', pods: ready(undefined, 1000, 1000), target: 50, current: 3, expected: 4 },
  { title: 'missing ones use everything on the way down', pods: ready(undefined, undefined, 100, 100, 100), target: 80, expected: 3 },
  { title: 'which may keep everything as it is', pods: ready(undefined, 500), target: 70, expected: 2 },
  { title: 'a target beyond all requests is what missing ones use', pods: ready(undefined, 100, 100, 100), target: 200, expected: 2 },
  {
    title: 'nothing but unready pods is an error',
    pods: [
      ['pending', undefined],
      ['starting', 100],
    ],
    target: 50,
    expected: /did not receive metrics for targeted pods/,
  },
  { title: 'no pods at all is an error', pods: [], target: 50, expected: /no pods returned by selector/ },
]
for (const row of utilizations) {
  test(`of ${row.pods.length} with a target of ${row.target}%: ${row.title}`, () => {
    const given = asked(row)
    const calculate = () =>
      replicasForUtilization({ ...given, requests: podRequests(given.pods, 'cpu', ''), targetPercent: row.target }).replicas
    if (typeof row.expected === 'number') assert.equal(calculate(), row.expected)
    else assert.throws(calculate, row.expected)
  })
}

const averages: Row[] = [
  { title: 'more than the target', pods: ready(20_000, 10_000, 30_000), target: 15_000, resource: '', expected: 4 },
  { title: 'less than the target', pods: ready(12_000, 12_000, 12_000, 12_000, 12_000), target: 20_000, resource: '', expected: 3 },
  { title: 'about the target', pods: ready(20_000, 21_000, 21_000), target: 20_000, resource: '', expected: 3 },
  {
    title: 'missing ones are at the target on the way down',
    pods: ready(undefined, 10_000, 10_000),
    target: 20_000,
    resource: '',
    expected: 2,
  },
  {
    title: 'pods that start count like others where it is no CPU',
    pods: [['starting', 50_000], ...ready(15_000, 30_000)],
    target: 15_000,
    resource: '',
    expected: 7,
  },
]
for (const row of averages)
  test(`an average of ${row.pods.length} pods: ${row.title}`, () =>
    assert.equal(replicasForAverage({ ...asked(row), target: row.target }).replicas, row.expected))

test('a value that all share, and one of which each takes a share', () => {
  const pods = ['ready', 'ready', 'ready', 'pending'].map((sort, index) => aPod(`p${index}`, sort as Sort))
  const total = (usage: number, currentReplicas = 4) => replicasForTotal({ currentReplicas, pods, usage, target: 20_000, tolerances })
  assert.deepEqual([total(40_000), total(21_000), total(10_000), total(60_000, 0), total(0, 0)], [6, 4, 2, 3, 0])
  const share = (usage: number, statusReplicas = 3) => replicasForShare({ statusReplicas, usage, target: 10_000, tolerances })
  assert.deepEqual(share(60_000), { replicas: 6, average: 20_000 })
  assert.deepEqual(share(32_000), { replicas: 3, average: 10_667 })
  assert.deepEqual(share(8000, 5), { replicas: 1, average: 1600 })
  assert.equal(replicasForTotal({ currentReplicas: 1, pods, usage: 9e15, target: 1, tolerances }), 2 ** 31 - 1)
})

test('requests are those of the pod, of its containers and sidecars, or of one container', () => {
  const [pod] = [aPod('p', 'ready')] as [V1Pod]
  const sidecar = { name: 'side', image: 'a', restartPolicy: 'Always', resources: { requests: { cpu: '250m' } } }
  const whole = { ...pod, spec: { ...pod.spec, initContainers: [sidecar, { name: 'init', image: 'a' }] } }
  assert.deepEqual([...podRequests([whole], 'cpu', '')], [['p', 1250]])
  assert.deepEqual([...podRequests([whole], 'cpu', 'side')], [['p', 250]])
  assert.throws(() => podRequests([whole], 'memory', ''), { message: 'missing request for memory in container main of Pod p' })
  assert.throws(() => podRequests([whole], 'cpu', 'other'), { message: 'container other not found in Pod p' })
  const own = { ...whole, spec: { ...whole.spec, resources: { requests: { cpu: '3' } } } }
  assert.deepEqual([...podRequests([own], 'cpu', '')], [['p', 3000]])
})

test('without rules of its own an autoscaler at most doubles, and stays within its bounds', () => {
  const bounds = { least: 2, most: 20 }
  const limited = (desired: number, current: number) => {
    const { replicas, reason } = limitedByDefault(desired, current, bounds)
    return [replicas, reason]
  }
  assert.deepEqual(limited(7, 5), [7, 'DesiredWithinRange'])
  assert.deepEqual(limited(1, 5), [2, 'TooFewReplicas'])
  assert.deepEqual(limited(30, 15), [20, 'TooManyReplicas'])
  assert.deepEqual(limited(19, 5), [10, 'ScaleUpLimit'])
  assert.deepEqual(limited(9, 1), [4, 'ScaleUpLimit'])
})

test('policies limit how much changes within their periods', () => {
  const history = new History()
  const rules = (select: string) => ({
    selectPolicy: select,
    policies: [
      { type: 'Pods', value: 4, periodSeconds: 60 },
      { type: 'Percent', value: 50, periodSeconds: 60 },
    ],
  })
  const bounds = { least: 1, most: 1000 }
  const to = (desired: number, current: number, select: string, atMs = 0) => {
    const { replicas, reason } = history.limitedByPolicies(desired, current, bounds, { up: rules(select), down: rules(select) }, atMs)
    return [replicas, reason]
  }
  assert.deepEqual(to(100, 20, 'Max'), [30, 'ScaleUpLimit'])
  assert.deepEqual(to(100, 20, 'Min'), [24, 'ScaleUpLimit'])
  assert.deepEqual(to(100, 20, 'Disabled'), [20, 'ScaleUpLimit'])
  assert.deepEqual(to(1, 20, 'Max'), [10, 'ScaleDownLimit'])
  assert.deepEqual(to(1, 20, 'Min'), [16, 'ScaleDownLimit'])
  assert.deepEqual(to(1, 20, 'Disabled'), [20, 'ScaleDownLimit'])
  history.changed(20, 30, 0, rules('Max'))
  assert.deepEqual(to(100, 30, 'Max', 30_000), [30, 'ScaleUpLimit'], 'all of the period is used up')
  assert.deepEqual(to(100, 30, 'Max', 60_000), [45, 'ScaleUpLimit'], 'the next one begins')
})

test('the highest recommendation of the window counts on the way down, the lowest on the way up', () => {
  const plain = new History()
  plain.begin(10, 0)
  assert.equal(plain.highestSince(4, 60_000, 300_000), 10)
  assert.equal(plain.highestSince(4, 300_001, 300_000), 4)
  const both = new History()
  both.begin(10, 0)
  const windows = { up: 60_000, down: 300_000 }
  assert.equal(both.stabilized(20, 10, 15_000, windows), 10)
  assert.equal(both.stabilized(20, 10, 60_000, windows), 20)
  assert.equal(both.stabilized(5, 20, 120_000, windows), 20)
  assert.equal(both.stabilized(5, 20, 360_000, windows), 5)
})

// The examples of "Horizontal Pod Autoscaling" in the Kubernetes documentation.
for (const [title, currentReplicas, usageMillis, replicas] of [
  ['twice the target doubles', 1, 200, 2],
  ['half the target halves', 4, 50, 2],
  ['a ratio of 1.1 is left alone', 10, 110, 10],
  ['a ratio of 0.9 is left alone', 10, 90, 10],
  ['a ratio of 1.11 is not', 10, 111, 12],
  ['a ratio of 0.89 is not', 10, 89, 9],
] as const) {
  test(`with a target of 100m, ${title}`, () => {
    const names = Array.from({ length: currentReplicas }, (_, index) => `p${index}`)
    const running = names.map((name) => ({ metadata: { name }, spec: { containers: [] }, status: { phase: 'Running' } }))
    const metrics = new Map(names.map((name) => [name, { value: usageMillis, timestampMs: 0, windowMs: 60_000 }]))
    const readiness = { nowMs: 0, cpuInitializationMs: 0, initialReadinessDelayMs: 0 }
    const tolerances = { up: 0.1, down: 0.1 }
    const asked = { currentReplicas, pods: running, metrics, resource: 'memory', tolerances, readiness, target: 100 }
    assert.deepEqual(replicasForAverage(asked), { replicas, average: usageMillis })
  })
}
