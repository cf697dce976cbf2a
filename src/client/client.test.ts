import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Pod } from '#api/core/v1/kinds.gen.ts'
import { isConflict, isNotFound } from '#api/meta/server-response.ts'
import { StatusError } from '#api/meta/status-error.ts'
import { Client } from '#client/client.ts'
import { retryOnConflict, waitFor } from '#client/retry.ts'
import type { Transport } from '#client/transport.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

async function withMaps(count: number): Promise<{ cluster: FakeCluster; client: Client; targets: string[]; expire: { at: number } }> {
  const cluster = await FakeCluster.start({ withoutNodes: true })
  for (let index = 0; index < count; index++) {
    const labels = { side: index % 2 === 0 ? 'even' : 'odd' }
    await cluster.create(ConfigMap, { metadata: { namespace: 'default', name: `map-${String(index).padStart(2, '0')}`, labels } })
  }
  const road = cluster.transportAs('admin', ['system:masters'])
  const targets: string[] = []
  const expire = { at: -1 }
  const transport: Transport = {
    send(request) {
      targets.push(request.target)
      if (targets.length - 1 !== expire.at) return road.send(request)
      const status = {
        kind: 'Status',
        status: 'Failure',
        reason: 'Expired',
        code: 410,
        message: 'The provided continue parameter is too old',
      }
      return Promise.resolve({
        status: 410,
        header: () => undefined,
        text: async () => JSON.stringify(status),
        chunks: async function* () {},
      })
    },
  }
  return { cluster, client: new Client({ transport, userAgent: 'test' }), targets, expire }
}

test('a list is fetched page by page, each object once, with its kind written on it', async () => {
  const { cluster, client, targets } = await withMaps(10)
  await using _ = cluster
  const { items } = await client.list(ConfigMap, { namespace: 'default', limit: 4 })
  assert.equal(targets.length, 3)
  assert.deepEqual(
    items.map(({ metadata, kind, apiVersion }) => `${apiVersion} ${kind} ${metadata.name}`),
    Array.from({ length: 10 }, (_each, index) => `v1 ConfigMap map-${String(index).padStart(2, '0')}`),
  )
  targets.length = 0
  const even = await client.list(ConfigMap, { namespace: 'default', limit: 2, labelSelector: 'side=even' })
  assert.equal(even.items.length, 5)
  assert.ok(targets.every((target) => target.includes('labelSelector=side%3Deven')))
})

test('a list whose next page has expired is fetched again as a whole', async () => {
  const { cluster, client, targets, expire } = await withMaps(10)
  await using _ = cluster
  expire.at = 1
  const { items } = await client.list(ConfigMap, { namespace: 'default', limit: 4 })
  assert.equal(new Set(items.map(({ metadata }) => metadata.name)).size, 10)
  assert.equal(items.length, 10)
  assert.deepEqual(
    targets.map((target) => /limit|continue/.test(target)),
    [true, true, false],
  )
})

test('a refusal is the Status that the server sent; one that is no Status is told by its code', async () => {
  const { cluster, client } = await withMaps(0)
  await using _ = cluster
  await assert.rejects(client.get(ConfigMap, 'default', 'absent'), (error: unknown) => {
    assert.ok(error instanceof StatusError && isNotFound(error))
    assert.equal(error.message, 'configmaps "absent" not found')
    return true
  })
  const proxy: Transport = {
    send: async () => ({
      status: 503,
      header: (name) => (name === 'retry-after' ? '7' : undefined),
      text: async () => '<html>busy</html>',
      chunks: async function* () {},
    }),
  }
  await assert.rejects(new Client({ transport: proxy, userAgent: 'test' }).get(ConfigMap, 'default', 'x'), (error: unknown) => {
    assert.ok(error instanceof StatusError)
    assert.equal(error.code, 503)
    assert.equal(error.status.details?.retryAfterSeconds, 7)
    return true
  })
})

test('apply owns fields, says who else does, and takes them over when told to', async () => {
  const { cluster, client } = await withMaps(0)
  await using _ = cluster
  const map = (value: string) => ({ metadata: { namespace: 'default', name: 'settings' }, data: { key: value } })
  await client.apply(ConfigMap, map('a'), { fieldManager: 'one' })
  await assert.rejects(client.apply(ConfigMap, map('b'), { fieldManager: 'two' }), isConflict)
  const taken = await client.apply(ConfigMap, map('b'), { fieldManager: 'two', force: true })
  assert.equal(taken.data?.['key'], 'b')
  assert.deepEqual(
    taken.metadata.managedFields?.map(({ manager, operation }) => [manager, operation]),
    [['two', 'Apply']],
  )
})

test('a write that meets conflicts is tried again on what is there now, five times at most', async () => {
  const { cluster, client } = await withMaps(1)
  await using _ = cluster
  const name = 'map-00'
  let meddlings = 2
  const write = async () => {
    const map = await client.get(ConfigMap, 'default', name)
    if (meddlings-- > 0) await client.patch(ConfigMap, map.metadata, { data: { other: String(meddlings) } })
    return client.update(ConfigMap, { ...map, data: { ...map.data, mine: 'yes' } })
  }
  const writing = retryOnConflict(cluster.clock, write)
  await cluster.advance({ seconds: 1 })
  assert.deepEqual((await writing).data, { other: '0', mine: 'yes' })
  meddlings = 100
  const failing = assert.rejects(retryOnConflict(cluster.clock, write), isConflict)
  await cluster.advance({ seconds: 1 })
  await failing
  assert.equal(meddlings, 95)
})

test('waiting follows an object until it is as wanted, or gone, or the time is up', async () => {
  const { cluster, client } = await withMaps(1)
  await using _ = cluster
  const place = { namespace: 'default', name: 'map-00' }
  const options = { clock: cluster.clock, timeoutMs: 60_000 }
  const changed = waitFor(client, ConfigMap, place, (map) => map?.data?.['ready'] === 'yes', options)
  await cluster.advance({ seconds: 1 })
  await cluster.client.patch(ConfigMap, place, { data: { ready: 'no' } })
  await cluster.client.patch(ConfigMap, place, { data: { ready: 'yes' } })
  await cluster.advance({ seconds: 1 })
  assert.equal((await changed)?.data?.['ready'], 'yes')
  const gone = waitFor(client, ConfigMap, place, (map) => map === undefined, options)
  await cluster.advance({ seconds: 1 })
  await cluster.client.delete(ConfigMap, place)
  await cluster.advance({ seconds: 1 })
  assert.equal(await gone, undefined)
  const made = waitFor(client, ConfigMap, place, (map) => map !== undefined, options)
  await cluster.advance({ seconds: 1 })
  await cluster.create(ConfigMap, { metadata: place })
  await cluster.advance({ seconds: 1 })
  assert.equal((await made)?.metadata.name, 'map-00')
  const never = assert.rejects(
    waitFor(client, ConfigMap, place, () => false, options),
    /was not as awaited after 60000 ms/,
  )
  await cluster.advance({ seconds: 61 })
  await never
})

test('subresources, collections and status have calls of their own', async () => {
  const { cluster, client } = await withMaps(3)
  await using _ = cluster
  await client.deleteCollection(ConfigMap, { namespace: 'default', labelSelector: 'side=even' })
  assert.equal((await cluster.list(ConfigMap, 'default')).length, 1)
  const pod = await client.create(Pod, {
    metadata: { namespace: 'default', name: 'p' },
    spec: { containers: [{ name: 'c', image: 'a' }] },
  })
  await client.updateStatus(Pod, { ...pod, status: { phase: 'Running' } })
  assert.equal((await client.get(Pod, 'default', 'p')).status?.phase, 'Running')
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace: 'default', name: 'p' } }
  assert.equal((await client.subresource<{ status: string }>('POST', Pod, pod.metadata, 'eviction', eviction)).status, 'Success')
})
