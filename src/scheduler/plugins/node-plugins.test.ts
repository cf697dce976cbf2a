import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Container, V1Taint, V1Toleration } from '#api/core/v1/types.gen.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'
import { type Case, validate } from '#scheduler/testing/validate.ts'

type Row = {
  name: string
  plugin: string
  given: Case
  feasible?: string[]
  reasons?: Record<string, string>
  scores?: Record<string, number>
  refused?: string
}

const gb = 1024 ** 3
const mb = 1024 ** 2
const hard: V1Taint = { key: 'team', value: 'a', effect: 'NoSchedule' }
const soft: V1Taint = { key: 'spot', effect: 'PreferNoSchedule' }
const tolerating = (...tolerations: V1Toleration[]) => aPod('p', { spec: { tolerations } })
const affinityTo = (key: string, operator: string, values: string[]) =>
  aPod('p', {
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }] },
        },
      },
    },
  })
const preferring = (...terms: [number, string, string][]) =>
  aPod('p', {
    spec: {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: terms.map(([weight, key, value]) => ({
            weight,
            preference: { matchExpressions: [{ key, operator: 'In', values: [value] }] },
          })),
        },
      },
    },
  })
const tainted = 'node(s) had untolerated taint(s)'
const noAffinity = "node(s) didn't match Pod's node affinity/selector"
const twoNodes = [aNode('a', { labels: { disk: 'ssd', gen: '5' } }), aNode('b', { labels: { disk: 'hdd', gen: '9' } })]

const lacksFeature = "node(s) didn't match Pod's required features"
const restartingAll: V1Container = {
  name: 'c',
  image: 'i',
  restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
}

const rows: Row[] = [
  {
    name: 'a pod that names its node goes nowhere else',
    plugin: 'NodeName',
    given: { nodes: twoNodes, pod: aPod('p', { on: 'b' }) },
    feasible: ['b'],
    reasons: { a: "node(s) didn't match the requested node name" },
  },
  {
    name: 'a pod with user namespaces on the host network needs a node that knows them',
    plugin: 'NodeDeclaredFeatures',
    given: {
      nodes: [aNode('a'), aNode('b', { features: ['Other'] }), aNode('c', { features: ['Other', 'UserNamespacesHostNetworkSupport'] })],
      pod: aPod('p', { spec: { hostNetwork: true, hostUsers: false } }),
    },
    feasible: ['c'],
    reasons: { a: lacksFeature, b: lacksFeature },
  },
  {
    name: 'a container whose end restarts all of them needs a node that can',
    plugin: 'NodeDeclaredFeatures',
    given: {
      nodes: [aNode('a'), aNode('b', { features: ['RestartAllContainersOnContainerExits'] })],
      pod: aPod('p', { spec: { containers: [restartingAll] } }),
    },
    feasible: ['b'],
    reasons: { a: lacksFeature },
  },
  {
    name: 'most pods ask nothing of what nodes declare',
    plugin: 'NodeDeclaredFeatures',
    given: { nodes: twoNodes, pod: aPod('p') },
    feasible: ['a', 'b'],
  },
  {
    name: 'a cordoned node takes nobody',
    plugin: 'NodeUnschedulable',
    given: { nodes: [aNode('a', { unschedulable: true }), aNode('b')], pod: aPod('p') },
    feasible: ['b'],
    reasons: { a: 'node(s) were unschedulable' },
  },
  {
    name: 'a cordoned node takes those who tolerate that',
    plugin: 'NodeUnschedulable',
    given: {
      nodes: [aNode('a', { unschedulable: true })],
      pod: tolerating({ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }),
    },
    feasible: ['a'],
  },
  {
    name: 'a hard taint keeps away, a soft one costs points',
    plugin: 'TaintToleration',
    given: { nodes: [aNode('a', { taints: [hard] }), aNode('b', { taints: [soft] }), aNode('c')], pod: aPod('p') },
    feasible: ['b', 'c'],
    reasons: { a: tainted },
    scores: { b: 0, c: 100 },
  },
  {
    name: 'a taint is tolerated by key and value',
    plugin: 'TaintToleration',
    given: {
      nodes: [aNode('a', { taints: [hard] }), aNode('b', { taints: [{ ...hard, value: 'b' }] })],
      pod: tolerating({ key: 'team', value: 'a' }),
    },
    feasible: ['a'],
    reasons: { b: tainted },
  },
  {
    name: 'a toleration of one effect does not help against another',
    plugin: 'TaintToleration',
    given: {
      nodes: [aNode('a', { taints: [{ ...hard, effect: 'NoExecute' }] })],
      pod: tolerating({ operator: 'Exists', effect: 'NoSchedule' }),
    },
    feasible: [],
    reasons: { a: tainted },
  },
  {
    name: 'numbers in taints are compared',
    plugin: 'TaintToleration',
    given: {
      nodes: [
        aNode('a', { taints: [{ key: 'cost', value: '5', effect: 'NoSchedule' }] }),
        aNode('b', { taints: [{ key: 'cost', value: '50', effect: 'NoSchedule' }] }),
      ],
      pod: tolerating({ key: 'cost', operator: 'Lt', value: '10' }),
    },
    feasible: ['a'],
    reasons: { b: tainted },
  },
  {
    name: 'the node selector must match',
    plugin: 'NodeAffinity',
    given: { nodes: twoNodes, pod: aPod('p', { spec: { nodeSelector: { disk: 'ssd' } } }) },
    feasible: ['a'],
    reasons: { b: noAffinity },
  },
  {
    name: 'NotIn',
    plugin: 'NodeAffinity',
    given: { nodes: twoNodes, pod: affinityTo('disk', 'NotIn', ['ssd']) },
    feasible: ['b'],
    reasons: { a: noAffinity },
  },
  {
    name: 'Gt compares numbers',
    plugin: 'NodeAffinity',
    given: { nodes: twoNodes, pod: affinityTo('gen', 'Gt', ['7']) },
    feasible: ['b'],
    reasons: { a: noAffinity },
  },
  { name: 'Exists', plugin: 'NodeAffinity', given: { nodes: twoNodes, pod: affinityTo('disk', 'Exists', []) }, feasible: ['a', 'b'] },
  {
    name: 'preferences add up by weight',
    plugin: 'NodeAffinity',
    given: { nodes: [...twoNodes, aNode('c')], pod: preferring([2, 'disk', 'ssd'], [5, 'disk', 'hdd'], [5, 'gen', '9']) },
    feasible: ['a', 'b', 'c'],
    scores: { a: 20, b: 100, c: 0 },
  },
  {
    name: 'the configuration may demand more than the pod',
    plugin: 'NodeAffinity',
    given: {
      nodes: twoNodes,
      pod: aPod('p'),
      args: {
        addedAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['hdd'] }] }],
          },
        },
      },
    },
    feasible: ['b'],
    reasons: { a: "node(s) didn't match scheduler-enforced node affinity" },
  },
  {
    name: 'a host port is taken once',
    plugin: 'NodePorts',
    given: { nodes: twoNodes, pods: [aPod('q', { hostPort: 80, on: 'a' })], pod: aPod('p', { hostPort: 80 }) },
    feasible: ['b'],
    reasons: { a: "node(s) didn't have free ports for the requested pod ports" },
  },
  {
    name: 'what is missing is told, all of it',
    plugin: 'NodeResourcesFit',
    given: { nodes: [aNode('a', { cpu: '1', memory: '1Gi' }), aNode('b')], pod: aPod('p', { cpu: '2', memory: '2Gi' }) },
    feasible: ['b'],
    reasons: { a: 'Insufficient cpu, Insufficient memory' },
  },
  {
    name: 'what others asked for is not there any more',
    plugin: 'NodeResourcesFit',
    given: {
      nodes: [aNode('a', { cpu: '4' }), aNode('b', { cpu: '4' })],
      pods: [aPod('q', { cpu: '3', on: 'a' })],
      pod: aPod('p', { cpu: '2' }),
    },
    feasible: ['b'],
    reasons: { a: 'Insufficient cpu' },
  },
  {
    name: 'a node takes so many pods',
    plugin: 'NodeResourcesFit',
    given: {
      nodes: [aNode('a', { pods: '1' }), aNode('b', { pods: '2' })],
      pods: [aPod('q', { on: 'a' }), aPod('r', { on: 'b' })],
      pod: aPod('p'),
    },
    feasible: ['b'],
    reasons: { a: 'Too many pods' },
  },
  {
    name: 'extended resources are counted by name',
    plugin: 'NodeResourcesFit',
    given: {
      nodes: [aNode('a'), aNode('b', { resources: { 'example.com/gpu': '2' } })],
      pod: aPod('p', { requests: { 'example.com/gpu': '1' } }),
    },
    feasible: ['b'],
    reasons: { a: 'Insufficient example.com/gpu' },
  },
  {
    name: 'the emptier node is preferred',
    plugin: 'NodeResourcesFit',
    given: {
      nodes: [aNode('a', { cpu: '4', memory: '10Gi' }), aNode('b', { cpu: '6', memory: '10Gi' })],
      pod: aPod('p', { cpu: '3', memory: '5Gi' }),
    },
    feasible: ['a', 'b'],
    scores: { a: 37, b: 50 },
  },
  {
    name: 'the fuller node is preferred when it is so configured',
    plugin: 'NodeResourcesFit',
    given: {
      nodes: [aNode('a', { cpu: '4', memory: '10Gi' }), aNode('b', { cpu: '6', memory: '10Gi' })],
      pod: aPod('p', { cpu: '3', memory: '5Gi' }),
      args: {
        scoringStrategy: {
          type: 'MostAllocated',
          resources: [
            { name: 'cpu', weight: 1 },
            { name: 'memory', weight: 1 },
          ],
        },
      },
    },
    feasible: ['a', 'b'],
    scores: { a: 62, b: 50 },
  },
  {
    name: 'along a line',
    plugin: 'NodeResourcesFit',
    given: {
      nodes: [aNode('a', { cpu: '4' }), aNode('b', { cpu: '8' })],
      pod: aPod('p', { cpu: '2' }),
      args: {
        scoringStrategy: {
          type: 'RequestedToCapacityRatio',
          resources: [{ name: 'cpu', weight: 1 }],
          requestedToCapacityRatio: {
            shape: [
              { utilization: 0, score: 0 },
              { utilization: 100, score: 10 },
            ],
          },
        },
      },
    },
    feasible: ['a', 'b'],
    scores: { a: 50, b: 25 },
  },
  {
    name: 'balance is worth more the more it gains',
    plugin: 'NodeResourcesBalancedAllocation',
    given: {
      nodes: [aNode('a', { cpu: '4', memory: `${10 * gb}` }), aNode('b', { cpu: '6', memory: `${10 * gb}` })],
      pod: aPod('p', { cpu: '3', memory: `${5 * gb}` }),
    },
    feasible: ['a', 'b'],
    scores: { a: 68, b: 75 },
  },
  {
    name: 'pods that ask for nothing leave the balance alone',
    plugin: 'NodeResourcesBalancedAllocation',
    given: { nodes: twoNodes, pod: aPod('p') },
    feasible: ['a', 'b'],
    scores: {},
  },
  {
    name: 'images that are there already count by size and by how many have them',
    plugin: 'ImageLocality',
    given: { nodes: [aNode('a', { images: { 'app:latest': 500 * mb } }), aNode('b', { images: { other: 900 * mb } })], pod: aPod('p') },
    feasible: ['a', 'b'],
    scores: { a: 23, b: 0 },
  },
]

for (const { name, plugin, given, feasible, reasons = {}, scores, refused } of rows) {
  test(`${plugin}: ${name}`, async () => {
    const result = await validate(plugin, given)
    assert.equal(result.refused, refused)
    assert.deepEqual(result.feasible, feasible ?? [])
    assert.deepEqual(result.reasons, reasons)
    if (scores !== undefined) assert.deepEqual(result.scores, scores)
  })
}
