/** The life of a claim, with each of the writes on its way failing once, or losing its answer: the end is always the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Node, PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { Transport } from '#client/transport.ts'
import { uniqueNameOf } from '#controllers/attach-detach/attachable-volume.ts'
import { StorageCluster } from '#controllers/volume-driver/testing/storage-cluster.ts'

type Fault = 'refused' | 'lost' | 'none'
type Plan = { writes: string[]; at: number; fault: Fault }

/** Fails the write of that number, counted without events. */
function failing(transport: Transport, plan: Plan): Transport {
  return {
    async send(request) {
      if (request.method === 'GET' || /\/(events|leases|serviceaccounts)(\/|$|\?)/.test(request.target)) return transport.send(request)
      plan.writes.push(`${request.method} ${request.target}`)
      if (plan.writes.length !== plan.at || plan.fault === 'none') return transport.send(request)
      if (plan.fault === 'refused') throw new Error('the connection was refused')
      await (await transport.send(request)).text()
      throw new Error('the connection broke before the answer came')
    },
  }
}

async function lifeOfAClaim(plan: Plan): Promise<void> {
  const when = `write ${plan.at} ${plan.fault}`
  await using all = await StorageCluster.start({ through: (transport) => failing(transport, plan) })
  // Service accounts and whatever else there is at the start are not what this is about.
  plan.writes.length = 0
  await all.aClass()
  await all.aNode('n1')
  await all.aClaim('data')
  await all.cluster.advance({ seconds: 10 })
  assert.equal((await all.claim('data')).status?.phase, 'Bound', when)
  const volume = uniqueNameOf(await all.volumeOf('data')) ?? ''
  await all.aPod('p1', 'n1', 'data')
  await all.cluster.advance({ seconds: 10 })
  assert.deepEqual(await all.attachedTo('n1'), [volume], when)
  await all.cluster.change(PersistentVolumeClaim, 'default', 'data', ({ spec }) => {
    spec.resources = { requests: { storage: '8Gi' } }
  })
  await all.cluster.advance({ seconds: 10 })
  const { status } = await all.claim('data')
  assert.deepEqual(
    [status?.capacity?.['storage'], status?.conditions ?? [], status?.allocatedResourceStatuses],
    ['8Gi', [], undefined],
    when,
  )
  await all.deletePod('p1')
  await all.cluster.advance({ seconds: 10 })
  assert.deepEqual(await all.attachments(), {}, when)
  await all.cluster.client.delete(PersistentVolumeClaim, { namespace: 'default', name: 'data' })
  await all.cluster.advance({ seconds: 20 })
  assert.ok(await all.isGone('data'), when)
  assert.deepEqual(await all.cluster.list(PersistentVolume), [], when)
  assert.deepEqual(await all.cluster.list(VolumeAttachment), [], when)
  assert.deepEqual((await all.cluster.get(Node, '', 'n1')).status?.volumesAttached ?? [], [], when)
  assert.equal(all.storage.volumes.size, 0, when)
}

test('the life of a claim ends well, whichever of its writes fails once', async (t) => {
  const clean: Plan = { writes: [], at: 0, fault: 'none' }
  await lifeOfAClaim(clean)
  const count = clean.writes.length
  assert.ok(count >= 15 && count < 60, `${count} writes:\n${clean.writes.join('\n')}`)
  // What was refused is simply written again; what was written without an answer meets itself.
  for (const [fault, every] of [['lost', 1] as const, ['refused', 3] as const]) {
    await t.test(`of ${count} writes, each of every ${every} is ${fault} in its turn`, async () => {
      for (let at = 1; at <= count; at += every) await lifeOfAClaim({ writes: [], at, fault })
    })
  }
})
