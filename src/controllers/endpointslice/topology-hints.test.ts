import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Event, Node, Pod, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import type { V1Endpoint } from '#api/discovery/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { topologyHints, zoneShares } from '#controllers/endpointslice/topology-hints.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const endpointsIn = (zones: string): V1Endpoint[] =>
  [...zones].map((zone, index) => ({ addresses: [`10.0.0.${index}`], ...defined({ zone: zone === '-' ? undefined : zone }) }))
const sharesOf = (shares: Record<string, number>) => new Map(Object.entries(shares))

/** Where endpoints are, a letter each, and whom they serve. */
const cases: { name: string; zones: string; shares: Record<string, number> | undefined; hints?: string; problem?: RegExp }[] = [
  { name: 'each zone has its share', zones: 'aabb', shares: { a: 0.5, b: 0.5 }, hints: 'aabb' },
  { name: 'all are in one zone', zones: 'aaaa', shares: { a: 0.5, b: 0.5 }, hints: 'bbaa' },
  { name: 'one zone is twice as large', zones: 'ababab', shares: { a: 2 / 3, b: 1 / 3 }, hints: 'aaabab' },
  { name: 'a little too many is no reason to go elsewhere', zones: 'aaaabbb', shares: { a: 0.5, b: 0.5 }, hints: 'aaaabbb' },
  {
    name: 'endpoints are fewer than zones',
    zones: 'ab',
    shares: { a: 0.4, b: 0.3, c: 0.3 },
    problem: /Insufficient number of endpoints \(2 endpoints, 3 zones\)/,
  },
  {
    name: 'no fair number exists',
    zones: 'aab',
    shares: { a: 0.5, b: 0.5 },
    problem: /without exceeding overload threshold \(3 endpoints, 2 zones\)/,
  },
  { name: 'an endpoint is in no zone', zones: 'aab-', shares: { a: 0.5, b: 0.5 }, problem: /do not have a zone specified/ },
  { name: 'nodes do not tell enough', zones: 'aabb', shares: undefined, problem: /Insufficient Node information/ },
]
for (const { name, zones, shares, hints, problem } of cases) {
  test(`hints: ${name}`, () => {
    const endpoints = endpointsIn(zones)
    const result = topologyHints(endpoints, shares && sharesOf(shares), () => undefined)
    if ('problem' in result) assert.match(result.problem, problem ?? /^$/)
    else assert.equal(endpoints.map((endpoint) => result.zoneOf.get(endpoint)).join(''), hints)
  })
}

test('a hint that does no harm stays when endpoints come', () => {
  const endpoints = endpointsIn('aaaabbb')
  const before = new Map(endpoints.slice(0, 4).map((endpoint, index) => [endpoint, index < 2 ? 'b' : 'a']))
  const result = topologyHints(endpoints, sharesOf({ a: 0.5, b: 0.5 }), (endpoint) => before.get(endpoint))
  assert.ok('zoneOf' in result)
  assert.equal(endpoints.map((endpoint) => result.zoneOf.get(endpoint)).join(''), 'bbaaabb')
})

test('shares are those of the processors of ready nodes that take pods', () => {
  const node = (zone: string, cpu: string, ready = 'True', labels: Record<string, string> = {}): V1Node => ({
    metadata: { labels: { 'topology.kubernetes.io/zone': zone, ...labels } },
    spec: {},
    status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status: ready }] },
  })
  const nodes = [
    node('a', '3'),
    node('b', '500m'),
    node('b', '500m'),
    node('b', '8', 'False'),
    node('a', '8', 'True', { 'node-role.kubernetes.io/control-plane': '' }),
  ]
  assert.deepEqual(Object.fromEntries(zoneShares(nodes) ?? []), { a: 0.75, b: 0.25 })
  assert.equal(zoneShares([...nodes, node('', '1')]), undefined)
  assert.equal(zoneShares([node('a', '1')]), undefined)
})

test('a service that asks for it by annotation gets hints, an event says so, and they go with the annotation or a zone', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['endpointslice'], nodeCount: 4, zoneCount: 2 })
  const annotations = { 'service.kubernetes.io/topology-mode': 'Auto' }
  await cluster.create(Service, {
    metadata: { namespace: 'default', name: 'web', annotations },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  })
  for (let index = 0; index < 4; index++) {
    const spec = { nodeName: 'node-1', containers: [{ name: 'main', image: 'a' }] }
    await cluster.create(Pod, { metadata: { namespace: 'default', name: `p${index}`, labels: { app: 'web' } }, spec })
  }
  await cluster.advance({ seconds: 5 })
  const hints = async () =>
    (await cluster.list(EndpointSlice, 'default'))
      .flatMap(({ endpoints }) => endpoints ?? [])
      .map((endpoint) => endpoint.hints?.forZones?.[0]?.name)
      .sort()
  assert.deepEqual(await hints(), ['zone-0', 'zone-0', 'zone-1', 'zone-1'])
  const reasons = async () => new Set((await cluster.list(Event, 'default')).map(({ reason }) => reason))
  assert.ok((await reasons()).has('TopologyAwareHintsEnabled'))
  for (const name of ['node-2', 'node-4']) await cluster.client.delete(Node, { name })
  await cluster.advance({ seconds: 5 })
  assert.deepEqual(await hints(), [undefined, undefined, undefined, undefined])
  assert.ok((await reasons()).has('TopologyAwareHintsDisabled'))
})
