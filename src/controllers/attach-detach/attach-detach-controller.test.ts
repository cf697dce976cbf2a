import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { CSIDriver, VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import { uniqueNameOf } from '#controllers/attach-detach/attachable-volume.ts'
import { simulatedDriver } from '#controllers/simulated-volumes/simulated-volumes.ts'
import { StorageCluster } from '#controllers/volume-driver/testing/storage-cluster.ts'

/** Two nodes, a claim, and a pod on the first. */
async function withPod(parameters: Record<string, string> = {}, claim: { accessModes?: string[] } = {}) {
  const all = await StorageCluster.start()
  await all.aClass(parameters)
  await all.aNode('n1')
  await all.aNode('n2')
  await all.aClaim('data', claim)
  await all.cluster.advance({ seconds: 1 })
  await all.aPod('p1', 'n1', 'data')
  await all.cluster.advance({ seconds: 2 })
  const volume = uniqueNameOf(await all.volumeOf('data')) ?? ''
  return { all, volume }
}

test('a volume is attached where its pod is, told to the node, and detached when the pod has gone and the node has unmounted it', async () => {
  const { all, volume } = await withPod({ 'attach-time': '10s', 'detach-time': '10s' })
  await using _ = all
  assert.deepEqual(await all.attachments(), { n1: false })
  assert.deepEqual(await all.attachedTo('n1'), [])
  await all.cluster.advance({ seconds: 10 })
  assert.deepEqual(await all.attachments(), { n1: true })
  assert.deepEqual(await all.attachedTo('n1'), [volume])
  const name = (await all.volumeOf('data')).metadata.name
  assert.deepEqual(await all.eventsOf('p1'), [`SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "${name}" `])
  await all.setInUse('n1', [volume])
  await all.deletePod('p1')
  await all.cluster.advance({ minutes: 30 })
  assert.deepEqual(await all.attachments(), { n1: true }, 'a healthy node is waited for, however long')
  await all.setInUse('n1', [])
  await all.cluster.advance({ seconds: 5 })
  assert.deepEqual(await all.attachedTo('n1'), [], 'no longer to be mounted, though not detached yet')
  assert.deepEqual(Object.keys(await all.attachments()), ['n1'])
  await all.cluster.advance({ seconds: 10 })
  assert.deepEqual(await all.attachments(), {})
  assert.deepEqual([...all.storage.volumes.values()][0]?.nodes, new Set())
})

test('a volume for one node waits until the other has let go, and its pod is told who has it', async () => {
  const { all, volume } = await withPod()
  await using _ = all
  await all.setInUse('n1', [volume])
  await all.aPod('p2', 'n2', 'data')
  await all.cluster.advance({ seconds: 10 })
  const name = (await all.volumeOf('data')).metadata.name
  assert.deepEqual(await all.attachments(), { n1: true })
  assert.deepEqual(await all.eventsOf('p2'), [
    `FailedAttachVolume: Waiting for detach for volume "${name}" Volume is already used by pod(s) p1`,
  ])
  await all.deletePod('p1')
  await all.setInUse('n1', [])
  await all.cluster.advance({ seconds: 10 })
  assert.deepEqual(await all.attachments(), { n2: true })
  assert.deepEqual(await all.attachedTo('n2'), [volume])
})

test('a volume for many nodes is attached to all of them', async () => {
  const { all } = await withPod({}, { accessModes: ['ReadWriteMany'] })
  await using _ = all
  await all.aPod('p2', 'n2', 'data')
  await all.cluster.advance({ seconds: 5 })
  assert.deepEqual(await all.attachments(), { n1: true, n2: true })
})

const lost: { name: string; lose(all: StorageCluster): Promise<unknown>; afterMs: number }[] = [
  { name: 'a node that does not answer is waited for six minutes', lose: (all) => all.setReady('n1', false), afterMs: 360_000 },
  {
    name: 'a node that is out of service is not waited for',
    lose: async (all) => {
      await all.setReady('n1', false)
      const taints = [{ key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }]
      await all.cluster.change(Node, '', 'n1', (node) => {
        node.spec = { ...node.spec, taints }
      })
    },
    afterMs: 0,
  },
  {
    name: 'a node that was deleted is waited for six minutes',
    lose: (all) => all.cluster.client.delete(Node, { name: 'n1' }),
    afterMs: 360_000,
  },
]
for (const { name, lose, afterMs } of lost) {
  test(name, async () => {
    const { all, volume } = await withPod()
    await using _ = all
    await all.setInUse('n1', [volume])
    await lose(all)
    await all.deletePod('p1')
    await all.aPod('p2', 'n2', 'data')
    if (afterMs > 0) {
      await all.cluster.advance(afterMs - 5000)
      assert.deepEqual(await all.attachments(), { n1: true })
    }
    await all.cluster.advance({ seconds: 10 })
    assert.deepEqual(await all.attachments(), { n2: true })
  })
}

test('a node that takes the volume into use at the last moment keeps it', async () => {
  const { all, volume } = await withPod()
  await using _ = all
  const client = all.cluster.client
  // The server knows of it before the controllers' cache does.
  await all.cluster.stopControllers()
  await all.deletePod('p1')
  await all.setInUse('n1', [volume])
  await all.cluster.startControllers()
  await all.cluster.advance({ seconds: 30 })
  assert.deepEqual(await all.attachments(), { n1: true })
  assert.deepEqual(await all.attachedTo('n1'), [volume])
  // What somebody wiped is told again.
  await client.patch(Node, { name: 'n1' }, { status: { volumesAttached: [] } }, { type: 'merge', subresource: 'status' })
  await all.cluster.advance({ seconds: 5 })
  assert.deepEqual(await all.attachedTo('n1'), [volume])
})

test('attaching that fails is told, and tried again without haste', async () => {
  const { all } = await withPod({ attach: 'fail,fail,lost,ok' })
  await using _ = all
  await all.cluster.advance({ minutes: 1 })
  assert.deepEqual(await all.attachments(), { n1: true })
  const name = (await all.volumeOf('data')).metadata.name
  const recorded = await all.eventsOf('p1')
  assert.ok(
    recorded.includes(`FailedAttachVolume: AttachVolume.Attach failed for volume "${name}" : simulated failure of attach`),
    recorded.join('\n'),
  )
  assert.ok(recorded.some((line) => line.startsWith('SuccessfulAttachVolume')))
})

test('nobody who attaches: the pod is told after two minutes', async () => {
  await using all = await StorageCluster.start()
  await all.aClass({ 'attach-time': '1h' })
  await all.aNode('n1')
  await all.aClaim('data')
  await all.cluster.advance({ seconds: 1 })
  await all.aPod('p1', 'n1', 'data')
  await all.cluster.advance({ minutes: 3 })
  const name = (await all.volumeOf('data')).metadata.name
  assert.deepEqual(await all.eventsOf('p1'), [
    `FailedAttachVolume: AttachVolume.Attach failed for volume "${name}" : ` +
      `timed out waiting for external-attacher of ${simulatedDriver} CSI driver to attach volume ${name}`,
  ])
})

test('volumes of a driver that needs no attaching have no attachments', async () => {
  await using all = await StorageCluster.start()
  await all.cluster.create(CSIDriver, { metadata: { name: simulatedDriver }, spec: { attachRequired: false } })
  await all.aClass()
  await all.aNode('n1')
  await all.aClaim('data')
  await all.cluster.advance({ seconds: 1 })
  await all.aPod('p1', 'n1', 'data')
  await all.cluster.advance({ seconds: 10 })
  assert.deepEqual(await all.cluster.list(VolumeAttachment), [])
})

test('a pod that has finished does not hold its volume', async () => {
  const { all } = await withPod()
  await using _ = all
  await all.cluster.client.patch(Pod, { namespace: 'default', name: 'p1' }, { status: { phase: 'Succeeded' } }, { subresource: 'status' })
  await all.cluster.advance({ seconds: 10 })
  assert.deepEqual(await all.attachments(), {})
})

test('an attachment that somebody else has made is left alone', async () => {
  const { all } = await withPod()
  await using _ = all
  const name = (await all.volumeOf('data')).metadata.name ?? ''
  const spec = { attacher: 'other.example.com', nodeName: 'n2' }
  await all.cluster.create(VolumeAttachment, { metadata: { name: 'foreign' }, spec: { ...spec, source: { persistentVolumeName: name } } })
  await all.cluster.create(VolumeAttachment, { metadata: { name: 'stray' }, spec: { ...spec, source: { persistentVolumeName: 'none' } } })
  await all.cluster.advance({ minutes: 10 })
  assert.ok(await all.cluster.find(VolumeAttachment, '', 'foreign'))
  assert.ok(await all.cluster.find(VolumeAttachment, '', 'stray'))
  assert.equal((await all.attachments())['n1'], true)
})
