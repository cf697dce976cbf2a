/** Every rule that keeps a node, or lets it go. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import type { V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { type AutoscalerOptions, defaultAutoscalerOptions } from '#cluster-autoscaler/options.ts'
import type { NodeGroup } from '#cluster-autoscaler/provider/node-group.ts'
import { Planner } from '#cluster-autoscaler/scale-down/planner.ts'
import { ClusterSnapshot } from '#cluster-autoscaler/snapshot/cluster-snapshot.ts'
import { ResourceLimits } from '#cluster-autoscaler/state/resource-limits.ts'
import { aNode, aPod, type PodWords } from '#scheduler/testing/objects.ts'

const key = 'cluster-autoscaler.kubernetes.io'
const group = { id: 'a', minSize: 0, maxSize: 9 } as NodeGroup

function owned(words: PodWords & { by?: string; annotations?: Record<string, string>; age?: number } = {}): V1Pod {
  const { by = 'ReplicaSet', annotations = {}, age = 600, ...rest } = words
  const pod = aPod('web', { cpu: '300m', on: 'a-1', ...rest })
  const ownerReferences = by === '' ? [] : [{ apiVersion: 'apps/v1', kind: by, name: 'web', uid: 'owner', controller: true }]
  const creationTimestamp = formatTime(Date.parse('2026-01-01T00:00:00Z') - age * 1000)
  return { ...pod, metadata: { ...pod.metadata, annotations, ownerReferences, creationTimestamp }, status: { phase: 'Running' } }
}

const budget = (namespace: string, disruptionsAllowed: number): V1PodDisruptionBudget => ({
  metadata: { namespace, name: 'web' },
  spec: { selector: { matchLabels: { app: 'web' } } },
  status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
})

type World = {
  pods?: V1Pod[]
  node?: Partial<V1Node['metadata']> & { isReady?: boolean }
  budgets?: V1PodDisruptionBudget[]
  options?: Partial<AutoscalerOptions>
  replicas?: number | undefined | 'unknown'
}

/** A candidate a-1, and a node b-1 of nobody with one core, of which 200m are free or, without pods of the first, all. */
async function planned({ pods = [], node = {}, budgets = [], options = {}, ...more }: World) {
  const clock = new VirtualClock()
  const snapshot = new ClusterSnapshot({ clock, random: seededRandom(1) })
  const { isReady = true, ...metadata } = node
  const base = aNode('a-1', { cpu: '2', memory: '8Gi' })
  const candidate: V1Node = {
    ...base,
    metadata: { ...base.metadata, ...metadata },
    status: {
      ...base.status,
      capacity: base.status?.allocatable ?? {},
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    },
  }
  snapshot.observe('Node', undefined, candidate)
  snapshot.observe('Node', undefined, aNode('b-1', { cpu: '1', memory: '8Gi' }))
  for (const pod of pods) snapshot.observe('Pod', undefined, pod)
  for (const each of budgets) snapshot.observe('PodDisruptionBudget', undefined, each)
  await snapshot.catchUp()
  const all = { ...defaultAutoscalerOptions, ...options }
  const replicas = 'replicas' in more ? more.replicas : 1
  const planner = new Planner({ snapshot, options: all, replicasOf: () => replicas, gpuResourceOf: () => undefined })
  const look = (nowMs: number) => planner.update([{ node: candidate, group, options: all.group }], new Set(['a-1', 'b-1']), nowMs)
  await look(clock.now())
  return { planner, candidate, look, nowMs: clock.now(), all, snapshot }
}

const rows: readonly [name: string, world: World, keptBecause: string | undefined][] = [
  ['an empty node goes', {}, undefined],
  ['a node that is hardly used goes', { pods: [owned()] }, undefined],
  ['a node that is used by half stays', { pods: [owned({ cpu: '1' })] }, 'NotUnderutilized'],
  ['memory counts as processor does', { pods: [owned({ memory: '4Gi' })] }, 'NotUnderutilized'],
  [
    'a pod that fits nowhere else keeps its node',
    { pods: [owned({ cpu: '500m' }), { ...owned({ cpu: '800m', on: 'b-1' }), metadata: { name: 'x', uid: 'x' } }] },
    'NoPlaceToMovePods',
  ],
  ['an annotation keeps the node', { node: { annotations: { [`${key}/scale-down-disabled`]: 'true' } } }, 'ScaleDownDisabledAnnotation'],
  ['a node that is not ready goes', { node: { isReady: false } }, undefined],
  ['unless those stay', { node: { isReady: false }, options: { scaleDownUnreadyEnabled: false } }, 'ScaleDownUnreadyDisabled'],
  [
    'a pod that is not safe to evict keeps it',
    { pods: [owned({ annotations: { [`${key}/safe-to-evict`]: 'false' } })] },
    'NotSafeToEvictAnnotation',
  ],
  [
    'a pod with an empty directory keeps it',
    { pods: [owned({ spec: { volumes: [{ name: 'v', emptyDir: {} }] } })] },
    'LocalStorageRequested',
  ],
  [
    'a pod with a path of the host keeps it',
    { pods: [owned({ spec: { volumes: [{ name: 'v', hostPath: { path: '/' } }] } })] },
    'LocalStorageRequested',
  ],
  ['a directory in memory does not', { pods: [owned({ spec: { volumes: [{ name: 'v', emptyDir: { medium: 'Memory' } }] } })] }, undefined],
  [
    'nor a volume that is said to be harmless',
    { pods: [owned({ spec: { volumes: [{ name: 'v', emptyDir: {} }] }, annotations: { [`${key}/safe-to-evict-local-volumes`]: 'x,v' } })] },
    undefined,
  ],
  [
    'nor any, when local storage does not count',
    { pods: [owned({ spec: { volumes: [{ name: 'v', emptyDir: {} }] } })], options: { skipNodesWithLocalStorage: false } },
    undefined,
  ],
  ['a pod without a controller keeps it', { pods: [owned({ by: '' })] }, 'NotReplicated'],
  ['unless it is safe to evict', { pods: [owned({ by: '', annotations: { [`${key}/safe-to-evict`]: 'true' } })] }, undefined],
  ['a controller that is not known keeps it', { pods: [owned({ by: 'Robot' })], replicas: 'unknown' }, 'NotReplicated'],
  [
    'unless those are trusted',
    { pods: [owned({ by: 'Robot' })], replicas: 'unknown', options: { skipNodesWithCustomControllerPods: false } },
    undefined,
  ],
  ['a controller that is gone keeps it', { pods: [owned()], replicas: undefined }, 'ControllerNotFound'],
  ['too few replicas keep it', { pods: [owned()], options: { minReplicaCount: 2 } }, 'MinReplicasReached'],
  ['a pod of kube-system without a budget keeps it', { pods: [owned({ namespace: 'kube-system' })] }, 'UnmovableKubeSystemPod'],
  ['for an hour', { pods: [owned({ namespace: 'kube-system', age: 3700 })] }, undefined],
  [
    'not with a budget',
    { pods: [owned({ namespace: 'kube-system', labels: { app: 'web' } })], budgets: [budget('kube-system', 1)] },
    undefined,
  ],
  ['nor when it does not count', { pods: [owned({ namespace: 'kube-system' })], options: { skipNodesWithSystemPods: false } }, undefined],
  ['a budget that allows nothing keeps it', { pods: [owned({ labels: { app: 'web' } })], budgets: [budget('default', 0)] }, 'NotEnoughPdb'],
  ['a budget of another namespace does not', { pods: [owned({ labels: { app: 'web' } })], budgets: [budget('other', 0)] }, undefined],
  ['a daemon set keeps no node', { pods: [owned({ by: 'DaemonSet' })] }, undefined],
  ['but what it asks for counts', { pods: [owned({ by: 'DaemonSet', cpu: '1500m' })] }, 'NotUnderutilized'],
  [
    'unless that is ignored',
    {
      pods: [owned({ by: 'DaemonSet', cpu: '1500m' })],
      options: { group: { ...defaultAutoscalerOptions.group, ignoreDaemonSetsUtilization: true } },
    },
    undefined,
  ],
  ['a mirror pod keeps no node', { pods: [owned({ by: '', annotations: { 'kubernetes.io/config.mirror': 'x' } })] }, undefined],
  [
    'and counts unless that is ignored',
    {
      pods: [owned({ by: '', cpu: '1500m', annotations: { 'kubernetes.io/config.mirror': 'x' } })],
      options: { ignoreMirrorPodsUtilization: true },
    },
    undefined,
  ],
]

for (const [name, world, keptBecause] of rows) {
  test(name, async () => {
    const { planner } = await planned(world)
    const kept = planner.unremovable.get('a-1')
    assert.equal(kept?.blocking?.reason ?? kept?.reason, keptBecause)
    assert.equal(planner.unneeded.length, keptBecause === undefined ? 1 : 0)
  })
}

test('a node goes when it has been unneeded long enough, and starts anew when it was needed in between', async () => {
  const { planner, look, nowMs, all, snapshot, candidate } = await planned({})
  const deleted = async (atMs: number) => {
    await look(atMs)
    const { empty } = planner.nodesToDelete({ limits: new ResourceLimits(all, [candidate]), sizes: new Map([['a', 1]]) }, atMs)
    return empty.length
  }
  assert.equal(await deleted(nowMs + 599_000), 0)
  assert.equal(planner.unremovable.get('a-1')?.reason, 'NotUnneededLongEnough')
  const busy = owned({ cpu: '1500m' })
  snapshot.observe('Pod', undefined, busy)
  await snapshot.catchUp()
  assert.equal(await deleted(nowMs + 600_000), 0)
  snapshot.observe('Pod', busy, undefined)
  await snapshot.catchUp()
  assert.equal(await deleted(nowMs + 700_000), 0)
  assert.equal(await deleted(nowMs + 1_300_000), 1)
})

test('a node that is not ready waits longer, and a group keeps its smallest size, the cluster its cores', async () => {
  const { planner, look, nowMs, all, candidate } = await planned({ node: { isReady: false } })
  const reasonAt = async (atMs: number, options = all, size = 1) => {
    await look(atMs)
    const { empty } = planner.nodesToDelete({ limits: new ResourceLimits(options, [candidate]), sizes: new Map([['a', size]]) }, atMs)
    return empty.length > 0 ? 'goes' : planner.unremovable.get('a-1')?.reason
  }
  assert.equal(await reasonAt(nowMs + 700_000), 'NotUnreadyLongEnough')
  assert.equal(await reasonAt(nowMs + 1_300_000, all, 0), 'NodeGroupMinSizeReached')
  assert.equal(await reasonAt(nowMs + 1_300_000, { ...all, coresTotal: { min: 2, max: 9 } }), 'MinimalResourceLimitExceeded')
  assert.equal(await reasonAt(nowMs + 1_300_000), 'goes')
})

test('pods of two nodes do not take the same place twice', async () => {
  const clock = new VirtualClock()
  const snapshot = new ClusterSnapshot({ clock, random: seededRandom(1) })
  const nodes = ['a-1', 'a-2'].map((name) => ({
    ...aNode(name, { cpu: '2' }),
    status: { ...aNode(name, { cpu: '2' }).status, conditions: [{ type: 'Ready', status: 'True' }] },
  }))
  for (const node of nodes) snapshot.observe('Node', undefined, node)
  snapshot.observe('Node', undefined, aNode('b-1', { cpu: '1' }))
  for (const name of ['a-1', 'a-2']) {
    const pod = owned({ cpu: '700m', on: name })
    snapshot.observe('Pod', undefined, { ...pod, metadata: { ...pod.metadata, name: `web-${name}`, uid: name } })
  }
  await snapshot.catchUp()
  const planner = new Planner({ snapshot, options: defaultAutoscalerOptions, replicasOf: () => 2, gpuResourceOf: () => undefined })
  await planner.update(
    nodes.map((node) => ({ node, group, options: defaultAutoscalerOptions.group })),
    new Set(['a-1', 'a-2', 'b-1']),
    clock.now(),
  )
  assert.equal(planner.unneeded.length, 1)
  // In thought only.
  assert.equal(snapshot.node('b-1')?.pods.length, 0)
  assert.equal(snapshot.node('a-1')?.pods.length, 1)
})
