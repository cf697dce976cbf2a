import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { sharedOptionsMap, wayOf } from '#cmd/control-plane/shared-options.ts'
import { writeWay } from '#cmd/upgrade/cluster-versions.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const { namespace, name } = sharedOptionsMap
const images = { controlPlaneImage: 'registry.example/typernetes:1', etcdImage: 'host' }

test('an upgrade writes down how control planes join, where the version before has not', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { client } = cluster
  const data = async () => (await client.get(ConfigMap, namespace, name)).data ?? {}
  await writeWay(client, images)
  await assert.rejects(data(), /not found/, 'a cluster of `up` says nothing of itself')
  await client.create(ConfigMap, { metadata: { ...sharedOptionsMap }, data: { options: '{}' } })
  await writeWay(client, images)
  assert.deepEqual(wayOf(await data()), { as: 'static-pods', images })
  assert.equal((await data())['options'], '{}')
  // Said by the first machine: another one that is upgraded first changes nothing.
  await writeWay(client, undefined)
  assert.equal(wayOf(await data()).as, 'static-pods')
})
