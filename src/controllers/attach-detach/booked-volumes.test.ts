import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Node, PersistentVolume, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1Volume } from '#api/core/v1/types.gen.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import { bookedName } from '#controllers/attach-detach/booked-volumes.ts'
import { StorageCluster } from '#controllers/volume-driver/testing/storage-cluster.ts'

const iscsi = { targetPortal: '192.0.2.1:3260', iqn: 'iqn.2001-04.com.example:disk', lun: 2 }
const name = 'kubernetes.io/iscsi/192.0.2.1:3260:iqn.2001-04.com.example:disk:2'

for (const [source, expected] of [
  [{ iscsi }, name],
  [{ fc: { targetWWNs: ['50060e801049cfd1', '50060e801049cfd2'], lun: 0 } }, 'kubernetes.io/fc/[50060e801049cfd1 50060e801049cfd2]:0'],
  [{ fc: { wwids: ['3600508b400105e210000900000490000'] } }, 'kubernetes.io/fc/[3600508b400105e210000900000490000]'],
  [{ fc: {} }, undefined],
  [{}, undefined],
] as const) {
  test(`kubelets look for ${expected ?? 'nothing'}`, () => assert.equal(bookedName(source as never), expected))
}

/** Two nodes, and a claim of an iSCSI disk. */
async function withDisk(accessModes: string[] = ['ReadWriteOnce']): Promise<StorageCluster> {
  const all = await StorageCluster.start()
  await all.aNode('n1')
  await all.aNode('n2')
  await all.cluster.create(PersistentVolume, {
    metadata: { name: 'disk' },
    spec: { accessModes, capacity: { storage: '5Gi' }, storageClassName: 'by-hand', iscsi },
  } as V1PersistentVolume)
  await all.aClaim('data', { accessModes, storageClassName: 'by-hand' })
  await all.cluster.advance({ seconds: 2 })
  return all
}

test('a node is told of a disk that its pods have, inline or by a claim, and has no attachment for it', async () => {
  await using all = await withDisk()
  await all.aPod('claimed', 'n1', 'data')
  const volumes: V1Volume[] = [{ name: 'v', fc: { wwids: ['x'] } }]
  await all.cluster.create(Pod, {
    metadata: { namespace: 'default', name: 'inline' },
    spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'a' }], volumes },
  })
  await all.cluster.advance({ seconds: 2 })
  assert.deepEqual(await all.attachedTo('n1'), ['kubernetes.io/fc/[x]', name])
  assert.deepEqual(await all.cluster.list(VolumeAttachment), [])
  await all.setInUse('n1', [name])
  await all.deletePod('claimed')
  await all.deletePod('inline')
  await all.cluster.advance({ minutes: 30 })
  assert.deepEqual(await all.attachedTo('n1'), [name], 'a healthy node is waited for, however long')
  await all.setInUse('n1', [])
  await all.cluster.advance({ seconds: 2 })
  assert.deepEqual(await all.attachedTo('n1'), [])
})

test('a disk for one node is told to the next when the first has let go; one for many to all', async () => {
  for (const [modes, isShared] of [
    [['ReadWriteOnce'], false],
    [['ReadWriteMany'], true],
  ] as const) {
    await using all = await withDisk([...modes])
    await all.aPod('p1', 'n1', 'data')
    await all.aPod('p2', 'n2', 'data')
    await all.cluster.advance({ seconds: 2 })
    assert.deepEqual([await all.attachedTo('n1'), await all.attachedTo('n2')], [[name], isShared ? [name] : []])
    await all.setInUse('n1', [name])
    await all.deletePod('p1')
    await all.cluster.advance({ minutes: 1 })
    assert.deepEqual(await all.attachedTo('n2'), isShared ? [name] : [])
    await all.setInUse('n1', [])
    await all.cluster.advance({ seconds: 2 })
    assert.deepEqual([await all.attachedTo('n1'), await all.attachedTo('n2')], [[], [name]])
  }
})

const lost: { what: string; lose(all: StorageCluster): Promise<unknown>; afterMs: number }[] = [
  { what: 'does not answer', lose: (all) => all.setReady('n1', false), afterMs: 360_000 },
  { what: 'was deleted', lose: (all) => all.cluster.client.delete(Node, { name: 'n1' }), afterMs: 360_000 },
  {
    what: 'is out of service',
    lose: (all) =>
      all.cluster.change(Node, '', 'n1', (node) => {
        node.spec = { ...node.spec, taints: [{ key: 'node.kubernetes.io/out-of-service', value: 'x', effect: 'NoExecute' }] }
      }),
    afterMs: 0,
  },
]
for (const { what, lose, afterMs } of lost) {
  test(`a node that ${what} keeps its disk for ${afterMs / 60_000} minutes`, async () => {
    await using all = await withDisk()
    await all.aPod('p1', 'n1', 'data')
    await all.cluster.advance({ seconds: 2 })
    await all.setInUse('n1', [name])
    await lose(all)
    await all.deletePod('p1')
    await all.aPod('p2', 'n2', 'data')
    if (afterMs > 0) {
      await all.cluster.advance(afterMs - 20_000)
      assert.deepEqual(await all.attachedTo('n2'), [])
    }
    await all.cluster.advance({ seconds: 40 })
    assert.deepEqual(await all.attachedTo('n2'), [name])
  })
}
