import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Event, Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1Pod, V1PodSpec, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import { Metrics } from '#base/metrics.ts'
import { Client } from '#client/client.ts'
import type { TransportResponse } from '#client/transport.ts'
import { descheduler } from '#controllers/descheduler/descheduler.ts'
import { parsePolicy } from '#controllers/descheduler/policy.ts'
import { failingWrite } from '#testing/failing-write.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

type NodeGiven = { labels?: Record<string, string>; taints?: { key: string; effect: string; value?: string }[]; cpu?: string }
type PodGiven = {
  on: string
  owner?: string
  kind?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  spec?: Partial<V1PodSpec>
  status?: V1PodStatus
  cpu?: string
}

type Scenario = {
  title: string
  nodes: Record<string, NodeGiven>
  pods: Record<string, PodGiven>
  /** Of the profile, and of the whole policy. */
  plugins: Record<string, object>
  evictor?: object
  policy?: object
  waitMinutes?: number
  evicts: string[]
}

async function addNode(cluster: FakeCluster, name: string, { labels = {}, taints = [], cpu = '4' }: NodeGiven): Promise<void> {
  const node = await cluster.create(Node, { metadata: { name, labels: { host: name, ...labels } }, spec: { taints } })
  const allocatable = { cpu, memory: '8Gi', pods: '20' }
  const conditions = [{ type: 'Ready', status: 'True' }]
  const ready = await cluster.client.updateStatus(Node, { ...node, status: { allocatable, conditions } } as V1Node)
  // Nodes are tainted until they are known to be ready.
  await cluster.client.update(Node, { ...ready, spec: { ...ready.spec, taints } })
}

async function addPod(cluster: FakeCluster, name: string, given: PodGiven): Promise<void> {
  const { on, owner = 'rs', kind = 'ReplicaSet', labels = {}, annotations = {}, spec = {}, status = {}, cpu = '100m' } = given
  const ownerReferences = owner === '' ? [] : [{ apiVersion: 'apps/v1', kind, name: owner, uid: `uid-of-${owner}`, controller: true }]
  const container = { name: 'main', image: 'app', resources: { requests: { cpu } } }
  const pod = await cluster.create(Pod, {
    metadata: { namespace: 'default', name, labels: { app: owner, ...labels }, annotations, ownerReferences },
    spec: { nodeName: on, containers: [container], ...spec },
  })
  const startTime = pod.metadata.creationTimestamp ?? ''
  const conditions = [{ type: 'Ready', status: 'True' }]
  await cluster.client.updateStatus(Pod, { ...pod, status: { phase: 'Running', startTime, conditions, ...status } } as V1Pod)
}

function policyText({ plugins, evictor = {}, policy = {} }: Pick<Scenario, 'plugins' | 'evictor' | 'policy'>): string {
  const balancing = /Duplicates|Utilization|TopologySpread/
  const names = Object.keys(plugins)
  const pluginConfig = [{ name: 'DefaultEvictor', args: evictor }, ...names.map((name) => ({ name, args: plugins[name] }))]
  const deschedule = { enabled: names.filter((name) => !balancing.test(name)) }
  const balance = { enabled: names.filter((name) => balancing.test(name)) }
  const profiles = [{ name: 'test', pluginConfig, plugins: { deschedule, balance } }]
  return JSON.stringify({ apiVersion: 'descheduler/v1alpha2', kind: 'DeschedulerPolicy', ...policy, profiles })
}

async function clusterOf({ nodes, pods }: Pick<Scenario, 'nodes' | 'pods'>): Promise<FakeCluster> {
  const cluster = await FakeCluster.start({ withoutNodes: true })
  for (const [name, node] of Object.entries(nodes)) await addNode(cluster, name, node)
  for (const [name, pod] of Object.entries(pods)) await addPod(cluster, name, pod)
  return cluster
}

/** A pod that has ended is gone at once. */
async function evictedPods(cluster: FakeCluster, given: Readonly<Record<string, unknown>>): Promise<string[]> {
  const pods = new Map((await cluster.list(Pod)).map((pod) => [pod.metadata.name ?? '', pod]))
  return Object.keys(given)
    .filter((name) => pods.get(name)?.metadata.deletionTimestamp !== undefined || !pods.has(name))
    .sort()
}

const two = { n1: {}, n2: {} }
const restarted = (restartCount: number, state: object = { running: {} }): V1PodStatus =>
  ({ phase: 'Running', containerStatuses: [{ name: 'main', restartCount, image: '', imageID: '', ready: true, state }] }) as V1PodStatus
const failed = (exitCode: number, reason: string): V1PodStatus =>
  ({
    phase: 'Failed',
    containerStatuses: [
      { name: 'main', restartCount: 0, image: '', imageID: '', ready: false, state: { terminated: { exitCode, reason } } },
    ],
  }) as V1PodStatus
const avoiding = (app: string, topologyKey: string): Partial<V1PodSpec> => ({
  affinity: {
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { app } }, topologyKey }] },
  },
})
const wanting = (disk: string): Partial<V1PodSpec> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: [disk] }] }],
      },
    },
  },
})
const preferring = (disk: string): Partial<V1PodSpec> => ({
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 5, preference: { matchExpressions: [{ key: 'disk', operator: 'In', values: [disk] }] } },
      ],
    },
  },
})
const spread = (extra: object = {}): Partial<V1PodSpec> => ({
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'rs' } }, ...extra },
  ],
})
const many = (count: number, given: PodGiven, prefix = 'p'): Record<string, PodGiven> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index + 1}`, given]))
const critical = { priorityClassName: 'system-node-critical', priority: 2_000_001_000 }
const duplicates = { RemoveDuplicates: {} }

const scenarios: readonly Scenario[] = [
  {
    title: 'duplicates beyond the fair share of a node go',
    nodes: two,
    pods: many(4, { on: 'n1' }),
    plugins: duplicates,
    evicts: ['p3', 'p4'],
  },
  {
    title: 'duplicates of kinds that are excluded, of other owners or of other images stay',
    nodes: two,
    pods: { a: { on: 'n1', owner: 'one' }, b: { on: 'n1', owner: 'two' }, c: { on: 'n1', kind: 'Job' }, d: { on: 'n1', kind: 'Job' } },
    plugins: { RemoveDuplicates: { excludeOwnerKinds: ['Job'] } },
    evicts: [],
  },
  {
    title: 'duplicates that can be nowhere else stay',
    nodes: { n1: {}, n2: { taints: [{ key: 'x', effect: 'NoSchedule' }] } },
    pods: many(4, { on: 'n1' }),
    plugins: duplicates,
    evicts: [],
  },
  {
    title: 'pods that restart too often go, the worst first; limits hold',
    nodes: two,
    pods: { a: { on: 'n1', status: restarted(5) }, b: { on: 'n1', status: restarted(50) }, c: { on: 'n2', status: restarted(9) } },
    plugins: { RemovePodsHavingTooManyRestarts: { podRestartThreshold: 6 } },
    policy: { maxNoOfPodsToEvictTotal: 1 },
    evicts: ['b'],
  },
  {
    title: 'restarts count only in the states that are asked for',
    nodes: two,
    pods: {
      a: { on: 'n1', status: restarted(50) },
      b: { on: 'n1', status: restarted(50, { waiting: { reason: 'CrashLoopBackOff' } }) },
    },
    plugins: { RemovePodsHavingTooManyRestarts: { podRestartThreshold: 6, states: ['CrashLoopBackOff'] } },
    evicts: ['b'],
  },
  {
    title: 'a limit for each node and each namespace holds',
    nodes: two,
    pods: { ...many(3, { on: 'n1', status: restarted(50) }), ...many(3, { on: 'n2', status: restarted(50) }, 'q') },
    plugins: { RemovePodsHavingTooManyRestarts: { podRestartThreshold: 6 } },
    policy: { maxNoOfPodsToEvictPerNode: 2, maxNoOfPodsToEvictPerNamespace: 3 },
    evicts: ['p1', 'p2', 'q1'],
  },
  {
    title: 'old pods go, of the namespaces and labels that are asked for',
    nodes: two,
    pods: { a: { on: 'n1', labels: { tier: 'x' } }, b: { on: 'n1' } },
    plugins: {
      PodLifeTime: { maxPodLifeTimeSeconds: 3600, labelSelector: { matchLabels: { tier: 'x' } }, namespaces: { include: ['default'] } },
    },
    waitMinutes: 61,
    evicts: ['a'],
  },
  {
    title: 'young pods stay',
    nodes: two,
    pods: { a: { on: 'n1' } },
    plugins: { PodLifeTime: { maxPodLifeTimeSeconds: 3600 } },
    waitMinutes: 59,
    evicts: [],
  },
  {
    title: 'failed pods go for some reasons and exit codes',
    nodes: two,
    pods: { a: { on: 'n1', status: failed(137, 'OOMKilled') }, b: { on: 'n1', status: failed(1, 'Error') }, c: { on: 'n1' } },
    plugins: { RemoveFailedPods: { reasons: ['OOMKilled'], exitCodes: [137] } },
    evicts: ['a'],
  },
  {
    title: 'a taint that came later drives away who does not tolerate it; some taints do not count',
    nodes: {
      n1: {
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'b', value: 'v', effect: 'NoSchedule' },
        ],
      },
      n2: {},
    },
    pods: { p: { on: 'n1', spec: { tolerations: [{ key: 'a', operator: 'Exists' }] } }, q: { on: 'n1' } },
    plugins: { RemovePodsViolatingNodeTaints: { excludedTaints: ['b=v'] } },
    evicts: ['q'],
  },
  {
    title: 'a soft taint drives away where that is wanted',
    nodes: { n1: { taints: [{ key: 'a', effect: 'PreferNoSchedule' }] }, n2: {} },
    pods: { p: { on: 'n1' } },
    plugins: { RemovePodsViolatingNodeTaints: { includePreferNoSchedule: true } },
    evicts: ['p'],
  },
  {
    title: 'who is on the wrong node goes, if there is a right one',
    nodes: { n1: { labels: { disk: 'hdd' } }, n2: { labels: { disk: 'ssd' } } },
    pods: { a: { on: 'n1', spec: wanting('ssd') }, b: { on: 'n1', spec: wanting('tape') }, c: { on: 'n2', spec: wanting('ssd') } },
    plugins: { RemovePodsViolatingNodeAffinity: { nodeAffinityType: ['requiredDuringSchedulingIgnoredDuringExecution'] } },
    evicts: ['a'],
  },
  {
    title: 'who would rather be elsewhere goes where preferences count',
    nodes: { n1: { labels: { disk: 'hdd' } }, n2: { labels: { disk: 'ssd' } } },
    pods: { a: { on: 'n1', spec: preferring('ssd') }, b: { on: 'n2', spec: preferring('ssd') } },
    plugins: { RemovePodsViolatingNodeAffinity: { nodeAffinityType: ['preferredDuringSchedulingIgnoredDuringExecution'] } },
    evicts: ['a'],
  },
  {
    title: 'of two that avoid each other the less important one goes',
    nodes: two,
    pods: {
      a: { on: 'n1', spec: avoiding('rs', 'host') },
      b: { on: 'n1', spec: { ...avoiding('rs', 'host'), containers: [{ name: 'c', image: 'i', resources: {} }] } },
      far: { on: 'n2', spec: avoiding('rs', 'host') },
    },
    plugins: { RemovePodsViolatingInterPodAntiAffinity: {} },
    evicts: ['b'],
  },
  {
    title: 'a zone with too many pods gives some to one with none',
    nodes: { n1: { labels: { zone: 'a' } }, n2: { labels: { zone: 'b' } } },
    pods: many(4, { on: 'n1', spec: spread() }),
    plugins: { RemovePodsViolatingTopologySpreadConstraint: {} },
    evicts: ['p3', 'p4'],
  },
  {
    title: 'a soft spread counts only where it is asked for',
    nodes: { n1: { labels: { zone: 'a' } }, n2: { labels: { zone: 'b' } } },
    pods: many(4, { on: 'n1', spec: spread({ whenUnsatisfiable: 'ScheduleAnyway' }) }),
    plugins: { RemovePodsViolatingTopologySpreadConstraint: {} },
    evicts: [],
  },
  {
    title: 'a zone whose pods could not be elsewhere keeps them',
    nodes: { n1: { labels: { zone: 'a' } }, n2: { labels: { zone: 'b' }, taints: [{ key: 'x', effect: 'NoSchedule' }] } },
    pods: many(4, { on: 'n1', spec: spread() }),
    plugins: { RemovePodsViolatingTopologySpreadConstraint: {} },
    evicts: [],
  },
  {
    title: 'a node that is asked for too much gives until it is within bounds',
    nodes: two,
    pods: many(4, { on: 'n1', cpu: '900m' }),
    plugins: { LowNodeUtilization: { thresholds: { cpu: 20 }, targetThresholds: { cpu: 50 } } },
    evicts: ['p1', 'p2'],
  },
  {
    title: 'nothing moves while no node is asked for little',
    nodes: two,
    pods: { ...many(4, { on: 'n1', cpu: '900m' }), q: { on: 'n2', cpu: '2' } },
    plugins: { LowNodeUtilization: { thresholds: { cpu: 20 }, targetThresholds: { cpu: 50 } } },
    evicts: [],
  },
  {
    title: 'bounds may be distances from the average',
    nodes: { n1: {}, n2: {}, n3: {} },
    pods: { ...many(3, { on: 'n1', cpu: '1' }), q: { on: 'n2', cpu: '1' } },
    plugins: { LowNodeUtilization: { useDeviationThresholds: true, thresholds: { cpu: 10 }, targetThresholds: { cpu: 20 } } },
    evicts: ['p1'],
  },
  {
    title: 'a node that is asked for little is emptied into the others',
    nodes: two,
    pods: { ...many(2, { on: 'n1', cpu: '200m' }), q: { on: 'n2', cpu: '2' } },
    plugins: { HighNodeUtilization: { thresholds: { cpu: 20 } } },
    evicts: ['p1', 'p2'],
  },
  {
    title: 'a node is not emptied where the others have no room',
    nodes: two,
    pods: { ...many(2, { on: 'n1', cpu: '200m' }), q: { on: 'n2', cpu: '4' } },
    plugins: { HighNodeUtilization: { thresholds: { cpu: 20 } } },
    evicts: [],
  },
  {
    title: 'who is protected stays: bare, daemon, static, important, with local data; who asks for it goes all the same',
    nodes: two,
    pods: {
      bare: { on: 'n1', owner: '', status: restarted(9) },
      daemon: { on: 'n1', kind: 'DaemonSet', status: restarted(9) },
      data: { on: 'n1', spec: { volumes: [{ name: 'v', emptyDir: {} }] }, status: restarted(9) },
      important: { on: 'n1', spec: critical, status: restarted(9) },
      asks: { on: 'n1', owner: '', annotations: { 'descheduler.alpha.kubernetes.io/evict': 'true' }, status: restarted(9) },
      plain: { on: 'n1', status: restarted(9) },
    },
    plugins: { RemovePodsHavingTooManyRestarts: { podRestartThreshold: 6 } },
    evicts: ['asks', 'plain'],
  },
  {
    title: 'protections can be lifted and added',
    nodes: two,
    pods: {
      daemon: { on: 'n1', kind: 'DaemonSet', status: restarted(9) },
      claims: { on: 'n1', spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] }, status: restarted(9) },
    },
    plugins: { RemovePodsHavingTooManyRestarts: { podRestartThreshold: 6 } },
    evictor: { podProtections: { defaultDisabled: ['DaemonSetPods'], extraEnabled: ['PodsWithPVC'] } },
    evicts: ['daemon'],
  },
  {
    title: 'of an owner with too few pods none goes; nor where there is no other place, nor of another label, nor too young',
    nodes: { n1: {}, n2: { taints: [{ key: 'x', effect: 'NoSchedule' }] } },
    pods: {
      few: { on: 'n1', owner: 'few', labels: { may: 'go' }, status: restarted(9) },
      ...many(2, { on: 'n1', labels: { may: 'go' }, status: restarted(9) }),
      fits: { on: 'n1', labels: { may: 'go' }, spec: { tolerations: [{ operator: 'Exists' }] }, status: restarted(9) },
      other: { on: 'n1', spec: { tolerations: [{ operator: 'Exists' }] }, status: restarted(9) },
    },
    plugins: { RemovePodsHavingTooManyRestarts: { podRestartThreshold: 6 } },
    evictor: { nodeFit: true, minReplicas: 2, labelSelector: { matchLabels: { may: 'go' } } },
    evicts: ['fits'],
  },
  {
    title: 'a cluster with one node is left alone',
    nodes: { n1: {} },
    pods: { a: { on: 'n1', status: restarted(50) } },
    plugins: { RemovePodsHavingTooManyRestarts: { podRestartThreshold: 6 } },
    evicts: [],
  },
]

for (const scenario of scenarios) {
  test(scenario.title, async () => {
    await using cluster = await clusterOf(scenario)
    await cluster.advance({ minutes: scenario.waitMinutes ?? 0 })
    const metrics = new Metrics()
    const policy = parsePolicy(policyText(scenario))
    await using _ = await cluster.run([descheduler({ policy, isDryRun: false, intervalMs: 3_600_000, metrics })])
    await cluster.advance({ seconds: 2 })
    assert.deepEqual(await evictedPods(cluster, scenario.pods), scenario.evicts)
    const events = (await cluster.list(Event)).filter(({ source }) => source?.component === 'sigs.k8s.io/descheduler')
    assert.equal(events.length, scenario.evicts.length)
    for (const { reason, message, involvedObject } of events) {
      assert.ok(reason !== undefined && reason in scenario.plugins)
      const { on } = scenario.pods[involvedObject.name ?? ''] ?? {}
      assert.equal(message, `pod eviction from ${on} node by sigs.k8s.io/descheduler`)
    }
    if (scenario.evicts.length > 0) assert.match(metrics.text(), /descheduler_pods_evicted_total\{.*result="success"/)
  })
}

const crashing = {
  nodes: two,
  pods: many(3, { on: 'n1', status: restarted(50) }),
  plugins: { RemovePodsHavingTooManyRestarts: { podRestartThreshold: 6 } },
}

test('a disruption budget holds pods back, and the failure is told where that is wanted', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: ['disruption'] })
  for (const name of ['n1', 'n2']) await addNode(cluster, name, {})
  await cluster.create(PodDisruptionBudget, {
    metadata: { namespace: 'default', name: 'b' },
    spec: { minAvailable: 2, selector: { matchLabels: { app: 'rs' } } },
  })
  for (const [name, pod] of Object.entries(crashing.pods)) await addPod(cluster, name, pod)
  await cluster.advance({ seconds: 5 })
  const policy = parsePolicy(policyText({ ...crashing, policy: { evictionFailureEventNotification: true } }))
  await using _ = await cluster.run([descheduler({ policy, isDryRun: false, intervalMs: 3_600_000, metrics: new Metrics() })])
  await cluster.advance({ seconds: 5 })
  assert.equal((await evictedPods(cluster, crashing.pods)).length, 1)
  const failures = (await cluster.list(Event, 'default')).filter(({ reason }) => reason === 'EvictionFailed')
  assert.equal(failures.length, 2)
  assert.match(
    failures[0]?.message ?? '',
    /^pod eviction from n1 node by sigs.k8s.io\/descheduler failed: error when evicting pod \(ignoring\)/,
  )
})

test('a dry run evicts nobody', async () => {
  await using cluster = await clusterOf(crashing)
  const metrics = new Metrics()
  const policy = parsePolicy(policyText(crashing))
  await using _ = await cluster.run([descheduler({ policy, isDryRun: true, intervalMs: 3_600_000, metrics })])
  await cluster.advance({ seconds: 2 })
  assert.deepEqual(await evictedPods(cluster, crashing.pods), [])
  assert.match(metrics.text(), /descheduler_pods_evicted_total\{.*result="success".*\} 3/)
})

test('switched on by name it follows the policy in its config map', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: ['descheduler'], settings: {} })
  for (const name of ['n1', 'n2']) await addNode(cluster, name, {})
  for (const [name, pod] of Object.entries(crashing.pods)) await addPod(cluster, name, pod)
  await cluster.advance({ minutes: 6 })
  assert.deepEqual(await evictedPods(cluster, crashing.pods), [])
  await cluster.create(ConfigMap, {
    metadata: { namespace: 'kube-system', name: 'descheduler' },
    data: { 'policy.yaml': policyText(crashing) },
  })
  await cluster.advance({ minutes: 6 })
  assert.deepEqual(await evictedPods(cluster, crashing.pods), ['p1', 'p2', 'p3'])
})

for (const how of ['refused', 'lost'] as const) {
  test(`an eviction that is ${how}, whichever it is, is made good in the next round`, async () => {
    const evictions = { only: /\/eviction$/, how }
    for (let at = 0, writes = 1; at < writes; at++) {
      const count = { writes: 0 }
      await using cluster = await FakeCluster.start({
        ...{ withoutNodes: true, controllers: ['descheduler'] },
        through: (transport) => failingWrite(transport, { ...evictions, at }, count),
      })
      for (const name of ['n1', 'n2']) await addNode(cluster, name, {})
      for (const [name, pod] of Object.entries(crashing.pods)) await addPod(cluster, name, pod)
      const data = { 'policy.yaml': policyText(crashing) }
      await cluster.create(ConfigMap, { metadata: { namespace: 'kube-system', name: 'descheduler' }, data })
      await cluster.advance({ minutes: 12 })
      assert.deepEqual(await evictedPods(cluster, crashing.pods), ['p1', 'p2', 'p3'])
      writes = Math.min(count.writes, Object.keys(crashing.pods).length)
      assert.ok(writes === 3, `${writes} evictions`)
    }
  })
}

test('a node whose pods use too much gives some, by what is measured instead of what is asked for', async () => {
  const measured = {
    LowNodeUtilization: { metricsUtilization: { source: 'KubernetesMetrics' }, thresholds: { cpu: 20 }, targetThresholds: { cpu: 50 } },
  }
  for (const [policy, evicted] of [
    [{ metricsProviders: [{ source: 'KubernetesMetrics' }] }, ['p1', 'p2']],
    [{}, []],
  ] as const) {
    const pods = many(4, { on: 'n1', cpu: '10m' })
    await using cluster = await clusterOf({ nodes: two, pods })
    const transport = cluster.transportAs('admin', ['system:masters'])
    const usage = (name: string, namespace?: string) => ({
      metadata: { name, ...(namespace ? { namespace } : {}) },
      usage: { cpu: namespace ? '900m' : '0', memory: '1' },
    })
    const answers: Record<string, object[]> = {
      nodes: [{ metadata: { name: 'n1' }, usage: { cpu: '3600m', memory: '1Mi' } }, usage('n2')],
      pods: Object.keys(pods).map((name) => usage(name, 'default')),
    }
    const client = new Client({
      userAgent: 'test',
      transport: {
        async send(request) {
          const [, plural = ''] = /^\/apis\/metrics.k8s.io\/v1beta1\/(\w+)$/.exec(request.target) ?? []
          if (plural === '') return transport.send(request)
          return {
            status: 200,
            header: () => undefined,
            text: async () => JSON.stringify({ items: answers[plural] }),
          } as unknown as TransportResponse
        },
      },
    })
    const given = parsePolicy(policyText({ plugins: measured, policy }))
    const loop = descheduler({ policy: given, isDryRun: false, intervalMs: 3_600_000, metrics: new Metrics() })
    await using _ = await cluster.run([loop], {}, client)
    await cluster.advance({ seconds: 2 })
    assert.deepEqual(await evictedPods(cluster, pods), [...evicted])
  }
})
