/** The cluster autoscaler over simulated nodes in virtual time: what makes it add nodes, and what does not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DaemonSet } from '#api/apps/v1/kinds.gen.ts'
import { ConfigMap, Pod } from '#api/core/v1/kinds.gen.ts'
import { PriorityClass } from '#api/scheduling/v1/kinds.gen.ts'
import { defined } from '#base/defined.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { AutoscaledCluster, type AutoscaledClusterOptions } from '#cluster-autoscaler/testing/autoscaled-cluster.ts'
import { changedGroups } from '#cluster-autoscaler/testing/changed-groups.ts'

type Row = {
  name: string
  groups: readonly string[]
  options?: Partial<AutoscalerOptions>
  act(world: AutoscaledCluster): Promise<unknown>
  /** After five minutes. */
  sizes: Record<string, number>
  waiting?: number
  /** Events with this reason say something like this. */
  says?: [reason: string, message: RegExp][]
  otherNodes?: number
  provider?: AutoscaledClusterOptions['provider']
}

const small = 'small,cpu=2,memory=8Gi,price=0.1'
const big = 'big,cpu=16,memory=64Gi,price=0.8'

const rows: readonly Row[] = [
  {
    name: 'as many nodes as the pods need, and no more',
    groups: [`1:9:${small}`],
    act: (world) => world.deploy('web', 8, '900m'),
    sizes: { small: 4 },
    says: [['TriggeredScaleUp', /^pod triggered scale-up: \[\{small 1->4 \(max: 9\)\}\]$/]],
  },
  {
    name: 'a group without nodes grows from its template',
    groups: [`0:9:${small}`],
    act: (world) => world.deploy('web', 2, '900m'),
    sizes: { small: 1 },
  },
  {
    name: 'pods that no node would help change nothing, and are told why',
    groups: [`1:9:${small}`, `0:3:${big}`],
    act: (world) => world.deploy('huge', 2, '64'),
    sizes: { small: 1 },
    waiting: 2,
    says: [['NotTriggerScaleUp', /^pod didn't trigger scale-up: 2 Insufficient cpu$/]],
  },
  {
    name: 'a group does not grow beyond its largest size',
    groups: [`1:3:${small}`],
    act: (world) => world.deploy('web', 10, '900m'),
    sizes: { small: 3 },
    waiting: 4,
    says: [['NotTriggerScaleUp', /^pod didn't trigger scale-up: 1 max node group size reached$/]],
  },
  {
    name: 'the node selector chooses the group',
    groups: [`1:5:${small},label=disk=hdd`, `0:5:${small.replace('small', 'fast')},label=disk=ssd`],
    act: (world) => world.deploy('db', 2, '900m', { spec: { nodeSelector: { disk: 'ssd' } } }),
    sizes: { small: 1, fast: 1 },
  },
  {
    name: 'pods go to a tainted group only when they tolerate it',
    groups: [`0:5:${small},taint=gpu=yes:NoSchedule`],
    act: async (world) => {
      await world.deploy('plain', 1, '900m')
      await world.deploy('learner', 1, '900m', { spec: { tolerations: [{ key: 'gpu', operator: 'Exists' }] } })
    },
    sizes: { small: 1 },
    waiting: 1,
    says: [['NotTriggerScaleUp', /^pod didn't trigger scale-up: 1 node\(s\) had untolerated taint\(s\)$/]],
  },
  {
    name: 'pods that keep apart get a node each',
    groups: [`0:9:${small}`],
    act: (world) => {
      const term = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'kubernetes.io/hostname' }
      return world.deploy('web', 4, '100m', {
        spec: { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
      })
    },
    sizes: { small: 4 },
  },
  {
    name: 'pods that spread over zones get nodes in both',
    groups: ['1:9:east,cpu=2,memory=8Gi,zone=east', '1:9:west,cpu=2,memory=8Gi,zone=west'],
    act: (world) => {
      const constraint = {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'web' } },
      }
      return world.deploy('web', 8, '900m', { spec: { topologySpreadConstraints: [constraint] } })
    },
    sizes: { east: 2, west: 2 },
  },
  {
    name: 'the room that daemon sets take on each new node is counted',
    groups: [`0:9:${small}`],
    act: async (world) => {
      const containers = [{ name: 'agent', image: 'agent:1', resources: { requests: { cpu: '500m' } } }]
      const labels = { app: 'agent' }
      const template = { metadata: { labels }, spec: { containers } }
      await world.cluster.create(DaemonSet, {
        metadata: { namespace: 'default', name: 'agent' },
        spec: { selector: { matchLabels: labels }, template },
      })
      await world.advance({ seconds: 1 })
      await world.deploy('web', 4, '900m')
    },
    sizes: { small: 4 },
  },
  {
    name: 'the cluster does not grow beyond --max-nodes-total',
    groups: [`1:9:${small}`],
    options: { maxNodesTotal: 3 },
    act: (world) => world.deploy('web', 10, '900m'),
    sizes: { small: 3 },
    waiting: 4,
    says: [
      ['MaxNodesTotalReached', /^Max total nodes in cluster reached: 3$/],
      ['NotTriggerScaleUp', /^pod didn't trigger scale-up: max total nodes in cluster reached$/],
    ],
  },
  {
    name: 'nor beyond --cores-total',
    groups: [`1:9:${small}`],
    options: { coresTotal: { min: 0, max: 6 } },
    act: (world) => world.deploy('web', 10, '900m'),
    sizes: { small: 3 },
    waiting: 4,
    says: [['NotTriggerScaleUp', /exceeded quota: "cluster-wide", resources: cpu$/]],
  },
  {
    name: 'nor beyond --memory-total, nodes of no group included',
    groups: [`1:9:${small}`],
    options: { memoryTotalBytes: { min: 0, max: 280 * 2 ** 30 } },
    otherNodes: 1,
    act: (world) => world.deploy('web', 10, '900m', { spec: { nodeSelector: { 'typernetes.dev/node-group': 'small' } } }),
    sizes: { small: 3, 'sim-node': 1 },
    waiting: 4,
  },
  {
    name: 'similar groups share the new nodes when that is asked for',
    groups: ['1:9:east,cpu=2,memory=8Gi,zone=east', '1:9:west,cpu=2,memory=8Gi,zone=west'],
    options: { balanceSimilarNodeGroups: true },
    act: (world) => world.deploy('web', 12, '900m'),
    sizes: { east: 3, west: 3 },
    says: [['TriggeredScaleUp', /^pod triggered scale-up: \[\{(?:east|west) 1->3 \(max: 9\)\} \{(?:east|west) 1->3 \(max: 9\)\}\]$/]],
  },
  {
    name: 'the group with the highest priority grows first',
    groups: [`0:9:${small}`, `0:9:${big}`],
    options: { expanders: ['priority', 'least-waste'] },
    act: async (world) => {
      const data = { priorities: '10:\n- .*\n50:\n- ^big$\n' }
      await world.cluster.create(ConfigMap, { metadata: { namespace: 'kube-system', name: 'cluster-autoscaler-priority-expander' }, data })
      await world.deploy('web', 2, '900m')
    },
    sizes: { big: 1 },
  },
  {
    name: 'a priority configuration that makes no sense is told, and left aside',
    groups: [`0:9:${small}`, `0:9:${big}`],
    options: { expanders: ['priority', 'least-waste'] },
    act: async (world) => {
      const data = { priorities: 'high:\n- big\n' }
      await world.cluster.create(ConfigMap, { metadata: { namespace: 'kube-system', name: 'cluster-autoscaler-priority-expander' }, data })
      await world.deploy('web', 2, '900m')
    },
    sizes: { small: 1 },
    says: [['PriorityConfigMapInvalid', /^Wrong configuration for priority expander: .*Ignoring update\.$/]],
  },
  {
    name: 'the cheaper group grows with --expander=price',
    groups: ['0:9:dear,cpu=4,memory=16Gi,price=0.9', '0:9:cheap,cpu=4,memory=16Gi,price=0.2'],
    options: { expanders: ['price'] },
    act: (world) => world.deploy('web', 3, '900m'),
    sizes: { cheap: 1 },
  },
  {
    name: 'the group that takes most pods grows with --expander=most-pods',
    groups: [`0:1:${small}`, `0:1:${big}`],
    options: { expanders: ['most-pods'] },
    act: (world) => world.deploy('web', 6, '900m'),
    sizes: { big: 1 },
  },
  {
    name: 'pods of little importance do not make the cluster grow',
    groups: [`1:9:${small}`],
    act: async (world) => {
      await world.cluster.create(PriorityClass, { metadata: { name: 'filler' }, value: -100 })
      await world.deploy('filler', 5, '900m', { spec: { priorityClassName: 'filler' } })
    },
    sizes: { small: 1 },
    waiting: 3,
  },
  {
    name: 'young pods wait for --new-pod-scale-up-delay, and for their own annotation',
    groups: [`0:9:${small}`],
    options: { newPodScaleUpDelayMs: 30_000 },
    act: (world) => world.deploy('web', 2, '900m', { annotations: { 'cluster-autoscaler.kubernetes.io/pod-scale-up-delay': '20m' } }),
    sizes: {},
    waiting: 2,
  },
  {
    name: 'a group below its smallest size grows with --enforce-node-group-min-size alone',
    groups: [`1:9:${small}`],
    options: { enforceNodeGroupMinSize: true },
    provider: (groups) => changedGroups(groups, () => ({ minSize: 3 })),
    act: async () => {},
    sizes: { small: 3 },
  },
]

for (const { name, groups, options, act, sizes, waiting = 0, says = [], otherNodes = 0, provider } of rows) {
  test(name, { timeout: 240_000 }, async () => {
    await using world = await AutoscaledCluster.start({
      groups,
      options: { ...options, scaleDownEnabled: false },
      otherNodes,
      ...defined({ provider }),
    })
    await act(world)
    await world.advance({ minutes: 5 })
    assert.deepEqual({ sizes: await world.sizes(), waiting: await world.waiting() }, { sizes, waiting })
    for (const [reason, message] of says) {
      const messages = await world.messages(reason)
      assert.ok(messages.length > 0, `no event says ${reason}`)
      for (const each of messages.slice(-1)) assert.match(each, message)
    }
    const running = (await world.cluster.list(Pod)).filter(({ spec, status }) => spec.nodeName && status?.phase !== 'Running')
    assert.deepEqual(
      running.map(({ metadata }) => metadata.name),
      [],
      'pods that have a node run',
    )
  })
}
