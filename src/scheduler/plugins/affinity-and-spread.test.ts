import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1PodAffinityTerm, V1PodSpec, V1TopologySpreadConstraint } from '#api/core/v1/types.gen.ts'
import { aNode, aPod, byLabel } from '#scheduler/testing/objects.ts'
import { type Case, validate } from '#scheduler/testing/validate.ts'

type Row = {
  name: string
  plugin: string
  given: Case
  feasible?: string[]
  reasons?: Record<string, string>
  scores?: Record<string, number>
}

const zone = 'topology.kubernetes.io/zone'
const host = 'kubernetes.io/hostname'
const nodes = [aNode('a', { zone: 'x' }), aNode('b', { zone: 'x' }), aNode('c', { zone: 'y' })]
const web = { labels: { app: 'web' } }
const notNear = "node(s) didn't match pod affinity rules"
const tooNear = "node(s) didn't match pod anti-affinity rules"
const unwelcome = "node(s) didn't satisfy existing pods anti-affinity rules"
const uneven = "node(s) didn't match pod topology spread constraints"

const wishing = (preferred: [number, V1PodAffinityTerm][], avoided: [number, V1PodAffinityTerm][] = []): Partial<V1PodSpec> => ({
  affinity: {
    podAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: preferred.map(([weight, podAffinityTerm]) => ({ weight, podAffinityTerm })),
    },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: avoided.map(([weight, podAffinityTerm]) => ({ weight, podAffinityTerm })),
    },
  },
})
const spread = (more: Partial<V1TopologySpreadConstraint> = {}): V1TopologySpreadConstraint => ({
  topologyKey: zone,
  maxSkew: 1,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: { matchLabels: { app: 'web' } },
  ...more,
})
const spreading = (...topologySpreadConstraints: V1TopologySpreadConstraint[]) => aPod('p', { ...web, spec: { topologySpreadConstraints } })

const rows: Row[] = [
  {
    name: 'near its friends, by zone',
    plugin: 'InterPodAffinity',
    given: { nodes, pods: [aPod('q', { ...web, on: 'a' })], pod: aPod('p', { near: byLabel({ app: 'web' }) }) },
    feasible: ['a', 'b'],
    reasons: { c: notNear },
  },
  {
    name: 'friends of another namespace do not count',
    plugin: 'InterPodAffinity',
    given: { nodes, pods: [aPod('q', { ...web, namespace: 'other', on: 'a' })], pod: aPod('p', { near: byLabel({ app: 'web' }) }) },
    reasons: { a: notNear, b: notNear, c: notNear },
  },
  {
    name: 'unless namespaces are chosen by label',
    plugin: 'InterPodAffinity',
    given: {
      nodes,
      objects: { Namespace: [{ metadata: { name: 'other', labels: { team: 't' } }, spec: {} }] },
      pods: [aPod('q', { ...web, namespace: 'other', on: 'a' })],
      pod: aPod('p', { near: { ...byLabel({ app: 'web' }), namespaceSelector: { matchLabels: { team: 't' } } } }),
    },
    feasible: ['a', 'b'],
    reasons: { c: notNear },
  },
  {
    name: 'the first of its kind may go anywhere that has the label',
    plugin: 'InterPodAffinity',
    given: { nodes: [...nodes, aNode('d')], pod: aPod('p', { ...web, near: byLabel({ app: 'web' }) }) },
    feasible: ['a', 'b', 'c'],
    reasons: { d: notNear },
  },
  {
    name: 'away from its foes, by host',
    plugin: 'InterPodAffinity',
    given: { nodes, pods: [aPod('q', { ...web, on: 'a' })], pod: aPod('p', { apartFrom: byLabel({ app: 'web' }, host) }) },
    feasible: ['b', 'c'],
    reasons: { a: tooNear },
  },
  {
    name: 'away from those who do not want it around',
    plugin: 'InterPodAffinity',
    given: { nodes, pods: [aPod('q', { apartFrom: byLabel({ app: 'web' }), on: 'a' })], pod: aPod('p', web) },
    feasible: ['c'],
    reasons: { a: unwelcome, b: unwelcome },
  },
  {
    name: 'wishes pull and push by weight',
    plugin: 'InterPodAffinity',
    given: {
      nodes,
      pods: [aPod('q', { ...web, on: 'a' }), aPod('r', { labels: { app: 'db' }, on: 'c' })],
      pod: aPod('p', { spec: wishing([[5, byLabel({ app: 'web' }, host)]], [[5, byLabel({ app: 'db' })]]) }),
    },
    feasible: ['a', 'b', 'c'],
    scores: { a: 100, b: 50, c: 0 },
  },
  {
    name: 'those who are there pull too, when they must be near',
    plugin: 'InterPodAffinity',
    given: { nodes, pods: [aPod('q', { ...web, near: byLabel({ app: 'web' }), on: 'c' })], pod: aPod('p', web) },
    feasible: ['a', 'b', 'c'],
    scores: { a: 0, b: 0, c: 100 },
  },
  {
    name: 'not where there are too many already',
    plugin: 'PodTopologySpread',
    given: { nodes, pods: [aPod('q', { ...web, on: 'a' })], pod: spreading(spread()) },
    feasible: ['c'],
    reasons: { a: uneven, b: uneven },
  },
  {
    name: 'pods that are going do not count',
    plugin: 'PodTopologySpread',
    given: {
      nodes,
      pods: [{ ...aPod('q', { ...web, on: 'a' }), metadata: { ...aPod('q', web).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }],
      pod: spreading(spread()),
    },
    feasible: ['a', 'b', 'c'],
  },
  {
    name: 'places that are missing count as empty',
    plugin: 'PodTopologySpread',
    given: { nodes, pods: [aPod('q', { ...web, on: 'a' }), aPod('r', { ...web, on: 'c' })], pod: spreading(spread({ minDomains: 3 })) },
    reasons: { a: uneven, b: uneven, c: uneven },
  },
  {
    name: 'a node without the label is no place',
    plugin: 'PodTopologySpread',
    given: { nodes: [...nodes, aNode('d')], pod: spreading(spread()) },
    feasible: ['a', 'b', 'c'],
    reasons: { d: `${uneven} (missing required label)` },
  },
  {
    name: 'zones the pod cannot go to do not count as empty',
    plugin: 'PodTopologySpread',
    given: {
      nodes,
      pods: [aPod('q', { ...web, on: 'a' })],
      pod: aPod('p', { ...web, spec: { nodeSelector: { [zone]: 'x' }, topologySpreadConstraints: [spread()] } }),
    },
    feasible: ['a', 'b', 'c'],
  },
  {
    name: 'unless told to ignore that',
    plugin: 'PodTopologySpread',
    given: {
      nodes,
      pods: [aPod('q', { ...web, on: 'a' })],
      pod: aPod('p', {
        ...web,
        spec: { nodeSelector: { [zone]: 'x' }, topologySpreadConstraints: [spread({ nodeAffinityPolicy: 'Ignore' })] },
      }),
    },
    feasible: ['c'],
    reasons: { a: uneven, b: uneven },
  },
  {
    name: 'a tainted zone does not count as empty when taints are honoured',
    plugin: 'PodTopologySpread',
    given: {
      nodes: [aNode('a', { zone: 'x' }), aNode('c', { zone: 'y', taints: [{ key: 'k', effect: 'NoSchedule' }] })],
      pods: [aPod('q', { ...web, on: 'a' })],
      pod: spreading(spread({ nodeTaintsPolicy: 'Honor' })),
    },
    feasible: ['a', 'c'],
  },
  {
    name: 'only pods of the same revision count',
    plugin: 'PodTopologySpread',
    given: {
      nodes,
      pods: [aPod('q', { labels: { app: 'web', rev: '1' }, on: 'a' })],
      pod: aPod('p', { labels: { app: 'web', rev: '2' }, spec: { topologySpreadConstraints: [spread({ matchLabelKeys: ['rev'] })] } }),
    },
    feasible: ['a', 'b', 'c'],
  },
  {
    name: 'both over zones and over hosts',
    plugin: 'PodTopologySpread',
    given: {
      nodes: [...nodes, aNode('d', { zone: 'y' })],
      pods: [aPod('q', { ...web, on: 'a' }), aPod('r', { ...web, on: 'c' })],
      pod: spreading(spread(), spread({ topologyKey: host })),
    },
    feasible: ['b', 'd'],
    reasons: { a: uneven, c: uneven },
  },
  {
    name: 'where it is a wish the emptier zone scores higher',
    plugin: 'PodTopologySpread',
    given: {
      nodes,
      pods: [aPod('q', { ...web, on: 'a' }), aPod('r', { ...web, on: 'b' })],
      pod: spreading(spread({ whenUnsatisfiable: 'ScheduleAnyway' })),
    },
    feasible: ['a', 'b', 'c'],
    scores: { a: 0, b: 0, c: 100 },
  },
  {
    name: 'pods of a service spread by themselves',
    plugin: 'PodTopologySpread',
    given: {
      nodes,
      objects: { Service: [{ metadata: { name: 's', namespace: 'default' }, spec: { selector: { app: 'web' } } }] },
      pods: [aPod('q', { ...web, on: 'a' })],
      pod: aPod('p', web),
    },
    feasible: ['a', 'b', 'c'],
    scores: { a: 66, b: 88, c: 100 },
  },
]

for (const { name, plugin, given, feasible = [], reasons = {}, scores } of rows) {
  test(`${plugin}: ${name}`, async () => {
    const result = await validate(plugin, given)
    assert.deepEqual(result.feasible, feasible)
    assert.deepEqual(result.reasons, reasons)
    if (scores !== undefined) assert.deepEqual(result.scores, scores)
  })
}
