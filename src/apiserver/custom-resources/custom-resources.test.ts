/** Custom resources in a whole cluster, in virtual time: they come, live, and go as other objects do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import type { V1CustomResourceDefinition, V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { ConfigMap, Namespace, ResourceQuota } from '#api/core/v1/kinds.gen.ts'
import { ThirdPartyResource } from '#api/extensions/v1beta1/third-party-kind.ts'
import { defineKind } from '#api/kind.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import { FakeCluster, fakeApiServer } from '#testing/fake-cluster.ts'

type Widget = KubernetesObject & { spec?: Record<string, unknown>; status?: Record<string, unknown> }

const Widget = defineKind<Widget>({ group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets' })

function definitionOf(spec: V1JSONSchemaProps, more: Partial<V1CustomResourceDefinition['spec']> = {}): V1CustomResourceDefinition {
  return {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties: { spec } } } }],
      ...more,
    },
  }
}

const free: V1JSONSchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

async function withWidgets(cluster: FakeCluster, definition = definitionOf(free)): Promise<void> {
  await cluster.create(CustomResourceDefinition, definition)
  await cluster.clock.settle()
}

const widget = (name: string, more: Partial<Widget> = {}): Widget => ({
  ...more,
  metadata: { namespace: 'default', name, ...more.metadata },
})

test('a kind can be used when its definition says that it is established', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  await withWidgets(cluster)
  const { status } = await cluster.get(CustomResourceDefinition, '', 'widgets.example.com')
  assert.deepEqual(
    status?.conditions?.map((condition) => [condition.type, condition.status, condition.reason]),
    [
      ['NamesAccepted', 'True', 'NoConflicts'],
      ['Established', 'True', 'InitialNamesAccepted'],
    ],
  )
  await cluster.create(Widget, widget('one', { spec: { any: { thing: 1 } } }))
  assert.deepEqual((await cluster.get(Widget, 'default', 'one')).spec, { any: { thing: 1 } })
})

test('many versions are taken up bit by bit, and the kind is established once all of them are', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { clock, client } = cluster
  const versions = Array.from({ length: 30 }, (_, index) => ({
    ...{ name: `v${index + 1}`, served: true, storage: index === 0 },
    schema: { openAPIV3Schema: { type: 'object', properties: { spec: free } } },
  }))
  const { scheme, cluster: view } = cluster.server.server
  const servedVersions = () => versions.filter(({ name }) => scheme.byResource('example.com', name, 'widgets') !== undefined).length
  const counts = new Set<number>()
  const unfollow = scheme.onChange(() => counts.add(servedVersions()))
  let whenEstablished: number | undefined
  using _ = view.onChange(CustomResourceDefinition, ({ status }) => {
    if (status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True')) whenEstablished ??= servedVersions()
  })
  // As if the event loop had always been held for too long.
  clock.heldMs = () => 9
  await clock.during(client.create(CustomResourceDefinition, definitionOf(free, { versions })))
  await clock.advanceUntil(async () => whenEstablished !== undefined)
  clock.heldMs = () => 0
  unfollow()
  assert.equal(whenEstablished, 30)
  assert.ok(counts.size > 10, `taken up in ${counts.size} turns`)
})

test('what depends on a custom object goes with it', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['garbagecollector'], withoutNodes: true })
  await withWidgets(cluster)
  const { metadata } = await cluster.create(Widget, widget('owner'))
  const ownerReferences = [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'owner', uid: metadata?.uid ?? '' }]
  await cluster.create(ConfigMap, { metadata: { namespace: 'default', name: 'owned', ownerReferences } })
  await cluster.create(Widget, widget('child', { metadata: { ownerReferences } }))
  await cluster.advance({ seconds: 60 })
  assert.ok(await cluster.find(ConfigMap, 'default', 'owned'))
  await cluster.client.delete(Widget, { namespace: 'default', name: 'owner' })
  await cluster.until(async () => (await cluster.find(ConfigMap, 'default', 'owned')) === undefined)
  await cluster.until(async () => (await cluster.find(Widget, 'default', 'child')) === undefined)
})

test('a namespace is emptied of custom objects', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['namespace'], withoutNodes: true })
  await withWidgets(cluster)
  await cluster.create(Namespace, { metadata: { name: 'crowded' }, spec: {} })
  await cluster.create(Widget, widget('one', { metadata: { namespace: 'crowded' } }))
  await cluster.client.delete(Namespace, { name: 'crowded' })
  await cluster.until(async () => (await cluster.find(Namespace, '', 'crowded')) === undefined)
  assert.deepEqual(await cluster.list(Widget, 'crowded'), [])
})

test('a quota counts custom objects', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['resourcequota'], withoutNodes: true })
  await withWidgets(cluster)
  await cluster.create(Widget, widget('one'))
  await cluster.create(ResourceQuota, {
    metadata: { namespace: 'default', name: 'q' },
    spec: { hard: { 'count/widgets.example.com': '2' } },
  })
  const used = async () => (await cluster.get(ResourceQuota, 'default', 'q')).status?.used?.['count/widgets.example.com']
  await cluster.until(async () => (await used()) === '1')
  await cluster.create(Widget, widget('two'))
  await assert.rejects(cluster.create(Widget, widget('three')), /exceeded quota/)
  await cluster.client.delete(Widget, { namespace: 'default', name: 'two' })
  await cluster.until(async () => (await used()) === '1', 120_000)
})

test('a definition that is deleted takes its objects along, those with finalizers last', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  await withWidgets(cluster)
  await cluster.create(Widget, widget('free'))
  await cluster.create(Widget, widget('held', { metadata: { finalizers: ['example.com/hold'] } }))
  await cluster.client.delete(CustomResourceDefinition, { name: 'widgets.example.com' })
  await cluster.clock.settle()
  assert.deepEqual(
    (await cluster.list(Widget)).map(({ metadata }) => metadata?.name),
    ['held'],
  )
  await assert.rejects(cluster.create(Widget, widget('late')), /create not allowed while custom resource definition is terminating/)
  await cluster.change(Widget, 'default', 'held', (object) => delete object.metadata?.finalizers)
  await cluster.until(async () => (await cluster.find(CustomResourceDefinition, '', 'widgets.example.com')) === undefined)
  await assert.rejects(cluster.list(Widget), isNotFound)
})

test('stored objects get the defaults of today, and lose what is unknown today, when they are read', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  await withWidgets(cluster, definitionOf({ type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } }))
  await cluster.create(Widget, widget('one', { spec: { a: 'x', b: 'y' } }))
  const schema: V1JSONSchemaProps = { type: 'object', properties: { a: { type: 'string' }, c: { type: 'integer', default: 7 } } }
  await cluster.change(CustomResourceDefinition, '', 'widgets.example.com', (definition) => {
    definition.spec.versions = definitionOf(schema).spec.versions
  })
  await cluster.clock.settle()
  assert.deepEqual((await cluster.get(Widget, 'default', 'one')).spec, { a: 'x', c: 7 })
  assert.deepEqual((await cluster.list(Widget))[0]?.spec, { a: 'x', c: 7 })
})

test('an integer that is too large for a number keeps its value through a change of another field', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  await withWidgets(cluster)
  const road = cluster.transportAs('admin', ['system:masters'])
  const path = '/apis/example.com/v1/namespaces/default/widgets'
  const send = async (method: 'POST' | 'PATCH', target: string, type: string, body: string) =>
    (await road.send({ method, target, headers: { 'content-type': type }, body })).text()
  const body = '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"one"},"spec":{"n":9007199254740993}}'
  assert.match(await send('POST', path, 'application/json', body), /"n":9007199254740993[,}]/)
  assert.match(await send('PATCH', `${path}/one`, 'application/merge-patch+json', '{"spec":{"m":1}}'), /"n":9007199254740993[,}]/)
})

test('servers that share a store serve the same kinds, each by what it sees', async () => {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  const servers = [await fakeApiServer(clock, seededRandom(1), [], { store }), await fakeApiServer(clock, seededRandom(2), [], { store })]
  const clients = servers.map(({ server }) => {
    const send = inProcess(server.handler.handle, new TrustedConnection({ name: 'admin', groups: ['system:masters'], extra: {} }))
    return new Client({ transport: inProcessTransport(send), userAgent: 'test' })
  })
  const [first, second] = clients as [Client, Client]
  try {
    await first.create(CustomResourceDefinition, definitionOf(free))
    await clock.settle()
    await second.create(Widget, widget('one', { spec: { a: 1 } }))
    assert.deepEqual((await first.get(Widget, 'default', 'one')).spec, { a: 1 })
    await second.delete(CustomResourceDefinition, { name: 'widgets.example.com' })
    await clock.settle()
    for (const client of clients) {
      await assert.rejects(client.list(Widget), isNotFound)
      assert.deepEqual((await client.list(CustomResourceDefinition)).items, [])
    }
  } finally {
    for (const server of servers) await server.stop()
  }
})

test('a ThirdPartyResource becomes a definition, which goes with it', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['garbagecollector'], withoutNodes: true })
  const CronTab = defineKind<Widget>({ group: 'stable.example.com', version: 'v1', kind: 'CronTab', plural: 'crontabs' })
  await cluster.create(ThirdPartyResource, { metadata: { name: 'cron-tab.stable.example.com' }, versions: [{ name: 'v1' }] })
  await cluster.clock.settle()
  const definition = await cluster.get(CustomResourceDefinition, '', 'crontabs.stable.example.com')
  assert.equal(definition.spec.names.kind, 'CronTab')
  await cluster.create(CronTab, { metadata: { namespace: 'default', name: 'one' }, cronSpec: '* * * * /5' } as KubernetesObject)
  assert.equal(((await cluster.get(CronTab, 'default', 'one')) as { cronSpec?: string }).cronSpec, '* * * * /5')
  await cluster.client.delete(ThirdPartyResource, { name: 'cron-tab.stable.example.com' })
  await cluster.until(async () => (await cluster.find(CustomResourceDefinition, '', 'crontabs.stable.example.com')) === undefined, 120_000)
  await assert.rejects(
    cluster.create(ThirdPartyResource, { metadata: { name: 'short' }, versions: [] }),
    /unexpectedly short resource name/,
  )
})
