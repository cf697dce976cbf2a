import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Event, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PodSecurityContext } from '#api/core/v1/types.gen.ts'
import { CSIDriver } from '#api/storage/v1/kinds.gen.ts'
import { labelsConflict } from '#controllers/selinux-warning/selinux-label.ts'
import { aClaim, aVolume } from '#controllers/volume-driver/testing/storage-objects.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

test('labels conflict where both say something else, or their levels differ', () => {
  for (const [one, other, isConflict] of [
    ['u:r:t:s0:c1,c2', ':::s0:c1,c2', false],
    ['u:r:t:s0:c1,c2', ':::s0:c98,c99', true],
    [':::s0:c1,c2', '', true],
    ['u:r:t:s0', 'u:r:x:s0', true],
    ['', '', false],
  ] as const) {
    assert.equal(labelsConflict(one, other), isConflict, `${one} and ${other}`)
  }
})

test('pods that share a volume with different labels or policies are told of each other; those of a driver that cannot mount so are not', async () => {
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    controllers: ['persistentvolume-binder', 'selinux-warning-controller'],
  })
  await cluster.create(CSIDriver, { metadata: { name: 'labels.example.com' }, spec: { seLinuxMount: true } })
  for (const driver of ['labels', 'plain']) {
    const csi = { driver: `${driver}.example.com`, volumeHandle: driver }
    await cluster.create(PersistentVolume, aVolume(driver, { csi, accessModes: ['ReadWriteMany'] }))
    await cluster.create(
      PersistentVolumeClaim,
      aClaim(driver, { storageClassName: '', volumeName: driver, accessModes: ['ReadWriteMany'] }),
    )
  }
  await cluster.advance({ seconds: 1 })
  const aPod = (name: string, claimName: string, securityContext: V1PodSecurityContext) =>
    cluster.create(Pod, {
      metadata: { namespace: 'default', name },
      spec: {
        securityContext,
        containers: [{ name: 'main', image: 'a', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
      },
    })
  const level = (text: string) => ({ seLinuxOptions: { level: text } })
  await aPod('one', 'labels', level('s0:c1'))
  await aPod('two', 'labels', level('s0:c2'))
  await aPod('three', 'plain', level('s0:c1'))
  await aPod('four', 'plain', level('s0:c2'))
  await cluster.advance({ seconds: 1 })
  const warnings = async () =>
    (await cluster.list(Event, 'default'))
      .filter(({ involvedObject }) => involvedObject.kind === 'Pod')
      .map(({ involvedObject, reason, message }) => `${involvedObject.name} ${reason}: ${message}`)
      .sort()
  const end = 'If both pods land on the same node, only one of them may access the volume.'
  assert.deepEqual(await warnings(), [
    `one SELinuxLabelConflict: SELinuxLabel ":::s0:c1" conflicts with pod two that uses the same volume as this pod with SELinuxLabel ":::s0:c2". ${end}`,
    `two SELinuxLabelConflict: SELinuxLabel ":::s0:c2" conflicts with pod one that uses the same volume as this pod with SELinuxLabel ":::s0:c1". ${end}`,
  ])
  await aPod('five', 'labels', { ...level('s0:c1'), seLinuxChangePolicy: 'Recursive' })
  await cluster.advance({ seconds: 1 })
  assert.ok(
    (await warnings()).some((line) => line.startsWith('five SELinuxChangePolicyConflict: SELinuxChangePolicy "Recursive" conflicts')),
  )
})
