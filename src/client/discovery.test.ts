import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '#client/client.ts'
import { type Discovery, discover, preferredResources, resourceOfKind } from '#client/discovery.ts'
import type { Transport } from '#client/transport.ts'
import { FakeCluster } from '../../test/support/fake-cluster.ts'

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

test('a kind is mapped to its resource by the version it was written in', () =>
  both((discovery) => {
    for (const [apiVersion, kind, plural, scope] of [
      ['v1', 'Pod', 'pods', 'Namespaced'],
      ['v1', 'Endpoints', 'endpoints', 'Namespaced'],
      ['apps/v1', 'Deployment', 'deployments', 'Namespaced'],
      ['networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', 'Namespaced'],
      ['rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', 'Cluster'],
    ] as const) {
      const resource = resourceOfKind(discovery, apiVersion, kind)
      assert.deepEqual([resource?.plural, resource?.scope], [plural, scope])
    }
    assert.equal(resourceOfKind(discovery, 'apps/v7', 'Deployment'), undefined)
    assert.equal(resourceOfKind(discovery, 'v1', 'Deployment'), undefined)
  }))

test('of each resource that can be listed and watched there is one, in the version the server prefers', () =>
  both((discovery) => {
    const preferred = preferredResources(discovery, ['list', 'watch', 'delete'])
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
  const discovery = await discover(new Client({ transport, userAgent: 'test' }))
  assert.deepEqual(
    discovery.failures.map(({ groupVersion }) => groupVersion),
    ['apps/v1'],
  )
  assert.notEqual(resourceOfKind(discovery, 'batch/v1', 'Job'), undefined)
})
