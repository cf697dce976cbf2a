import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '#client/client.ts'
import { type Discovery, discover, preferredResources } from '#client/discovery.ts'
import { ServedKinds } from '#client/served-kinds.ts'
import type { Transport } from '#client/transport.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

async function both(use: (discovery: Discovery) => void): Promise<void> {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  use(await discover(cluster.client))
  const road = cluster.transportAs('admin', ['system:masters'])
  // A server of before aggregated discovery looks at the plain form only.
  const plain: Transport = { send: (request) => road.send({ ...request, headers: { ...request.headers, accept: 'application/json' } }) }
  use(await discover(new Client({ transport: plain, userAgent: 'test' })))
}

test('aggregated and plain discovery find the same', async () => {
  const found: string[][] = []
  await both(({ resources, failures }) => {
    assert.deepEqual(failures, [])
    const lines = resources.map(
      ({ group, version, kind, plural, singular, scope, verbs, shortNames, categories, subresourceNames, isPreferred }) =>
        JSON.stringify([
          group,
          version,
          kind,
          plural,
          singular,
          scope,
          [...verbs].sort(),
          shortNames,
          categories,
          [...subresourceNames].sort(),
          isPreferred,
        ]),
    )
    found.push(lines.sort())
  })
  assert.deepEqual(found[0], found[1])
  assert.ok((found[0]?.length ?? 0) > 60)
})

test('a kind is mapped to its resource by the version it was written in', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const kinds = new ServedKinds(cluster.client)
  await kinds.refresh()
  for (const [apiVersion, kind, plural, scope] of [
    ['v1', 'Pod', 'pods', 'Namespaced'],
    ['v1', 'Endpoints', 'endpoints', 'Namespaced'],
    ['apps/v1', 'Deployment', 'deployments', 'Namespaced'],
    ['networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', 'Namespaced'],
    ['rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', 'Cluster'],
  ] as const) {
    const resource = kinds.scheme.of({ apiVersion, kind })
    assert.deepEqual([resource?.plural, resource?.scope], [plural, scope])
  }
  assert.equal(kinds.scheme.of({ apiVersion: 'apps/v7', kind: 'Deployment' }), undefined)
  assert.equal(kinds.scheme.of({ apiVersion: 'v1', kind: 'Deployment' }), undefined)
})

test('of each resource that can be listed and watched there is one, in the version the server prefers', () =>
  both((discovery) => {
    const preferred = preferredResources(discovery.resources, ['list', 'watch', 'delete'])
    const names = preferred.map(({ group, plural }) => `${group}/${plural}`)
    assert.equal(new Set(names).size, names.length)
    assert.equal(preferred.find(({ plural }) => plural === 'horizontalpodautoscalers')?.version, 'v2')
    assert.ok(!names.includes('authorization.k8s.io/subjectaccessreviews'))
  }))

test('a group that cannot be asked leaves the others found', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const road = cluster.transportAs('admin', ['system:masters'])
  const transport: Transport = {
    async send(request) {
      if (request.target === '/apis/apps/v1') throw new Error('the server behind it is down')
      return road.send({ ...request, headers: { ...request.headers, accept: 'application/json' } })
    },
  }
  const kinds = new ServedKinds(new Client({ transport, userAgent: 'test' }))
  await kinds.refresh()
  assert.deepEqual(
    kinds.failures.map(({ groupVersion }) => groupVersion),
    ['apps/v1'],
  )
  assert.notEqual(kinds.scheme.of({ apiVersion: 'batch/v1', kind: 'Job' }), undefined)
})

test('kinds that came and went are told of, those that stayed are the same value, and those that could not be asked for are kept', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const road = cluster.transportAs('admin', ['system:masters'])
  const documents: Record<string, string> = {}
  let isDown = false
  const transport: Transport = {
    async send(request) {
      if (isDown && request.target === '/apis/batch/v1') throw new Error('the server behind it is down')
      const body = documents[request.target]
      const answer = await road.send({ ...request, headers: { ...request.headers, accept: 'application/json' } })
      return body === undefined ? answer : { ...answer, text: async () => body }
    },
  }
  const kinds = new ServedKinds(new Client({ transport, userAgent: 'test' }))
  await kinds.refresh()
  const deployment = kinds.scheme.of({ apiVersion: 'apps/v1', kind: 'Deployment' })
  const changes: string[][] = []
  kinds.scheme.onChange(({ added, removed }) =>
    changes.push(
      added.map(({ kind }) => `+${kind}`),
      removed.map(({ kind }) => `-${kind}`),
    ),
  )
  await kinds.refresh()
  assert.deepEqual(changes, [])
  documents['/apis/coordination.k8s.io/v1'] = JSON.stringify({
    resources: [{ name: 'widgets', singularName: 'widget', namespaced: true, kind: 'Widget', verbs: ['list'] }],
  })
  isDown = true
  await kinds.refresh()
  assert.deepEqual(changes, [['+Widget'], ['-Lease']])
  assert.equal(kinds.scheme.of({ apiVersion: 'apps/v1', kind: 'Deployment' }), deployment)
  assert.notEqual(kinds.scheme.of({ apiVersion: 'batch/v1', kind: 'Job' }), undefined)
})
