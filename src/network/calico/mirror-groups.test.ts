import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import { installDefinitions } from '#controllers/kit/install-definitions.ts'
import { IPPool, StoredIPPool } from '#network/calico/definitions.ts'
import { mirrorGroups } from '#network/calico/mirror-groups.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

test('what is written in one group is found in the other, and goes with it', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { client, clock, random } = cluster
  const installed = installDefinitions(client, [IPPool, StoredIPPool], { clock })
  for (let turn = 0; turn < 20; turn++) await clock.advance({ seconds: 1 })
  await installed
  const spec = (cidr: string) => ({ cidr, blockSize: 28 })
  await client.create(StoredIPPool, StoredIPPool.make({ metadata: { name: 'before', labels: { a: 'b' } }, spec: spec('10.1.0.0/24') }))
  const mirror = mirrorGroups({ pairs: [{ written: IPPool, kept: StoredIPPool }], client, clock, random, logger: silentLogger })
  const settle = () => clock.advance({ seconds: 2 })
  await settle()
  assert.deepEqual((await client.get(IPPool, '', 'before')).metadata.labels, { a: 'b' })
  await client.create(IPPool, IPPool.make({ metadata: { name: 'after' }, spec: spec('10.2.0.0/24') }))
  await settle()
  assert.equal((await client.get(StoredIPPool, '', 'after')).spec.cidr, '10.2.0.0/24')
  await client.patch(StoredIPPool, { name: 'after' }, { spec: { disabled: true } }, { type: 'merge' })
  await client.patch(IPPool, { name: 'before' }, { spec: { natOutgoing: true } }, { type: 'merge' })
  await settle()
  assert.equal((await client.get(IPPool, '', 'after')).spec.disabled, true)
  assert.equal((await client.get(StoredIPPool, '', 'before')).spec.natOutgoing, true)
  await client.delete(StoredIPPool, { name: 'before' })
  await client.delete(IPPool, { name: 'after' })
  await settle()
  for (const kind of [IPPool, StoredIPPool]) assert.deepEqual((await client.list(kind)).items, [])
  await mirror.stop()
})
