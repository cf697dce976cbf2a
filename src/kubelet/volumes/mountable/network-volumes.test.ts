import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Endpoints, Node, Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1Endpoints, V1Node, V1PodSpec, V1Volume } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { type Mounts, nodeMounts } from '#base/mounts.ts'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import { boundClaim } from '#kubelet/volumes/testing/bound-claim.ts'
import { cannotMount, TestNode } from '#testing/test-node.ts'

const skip = cannotMount

const withVolume = (volume: Omit<V1Volume, 'name'>): Partial<V1PodSpec> => ({
  volumes: [{ name: 'v', ...volume }],
  containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
})

/** A machine that has every program; what it is asked to mount and run is written down. */
function recordingMachine(answers: Record<string, string> = {}) {
  const done: string[] = []
  const mounted: string[] = []
  const mounts: Mounts = {
    ...nodeMounts,
    below: async (directory) => mounted.filter((place) => place === directory || place.startsWith(`${directory}/`)),
    async mount({ source, path, type, options = [] }) {
      done.push(`mount -t ${type} -o ${options.join(',')} ${source} ${path.split('/').slice(-2).join('/')}`)
      mounted.push(path)
    },
    async bind(source, path) {
      done.push(`bind ${source.split('/').slice(-2).join('/')} ${path.split('/').slice(-2).join('/')}`)
      mounted.push(path)
    },
    remount: async () => {},
    async unmount(path) {
      done.push(`unmount ${path.split('/').slice(-2).join('/')}`)
      mounted.splice(mounted.indexOf(path), 1)
    },
  }
  const processes: Processes = {
    ...nodeProcesses,
    async run(command, args) {
      if (command !== 'sh') done.push([command, ...args].join(' '))
      return { exitCode: command === 'blkid' ? 2 : 0, signal: null, stdout: answers[command] ?? '', stderr: '' }
    },
  }
  return { done, mounts, processes }
}

test('nfs: in the pod, read-only, and claimed with options', { skip }, async () => {
  const machine = recordingMachine()
  await using node = await TestNode.start(machine)
  const pod = await node.create(withVolume({ nfs: { server: 'files.example', path: '/a', readOnly: true } }))
  await node.sandbox(pod)
  await boundClaim(node.cluster, 'data', { nfs: { server: 'fd00::1', path: '/b' }, mountOptions: ['nfsvers=4.1'] })
  await node.sandbox(await node.create(withVolume({ persistentVolumeClaim: { claimName: 'data' } }), { name: 'claimed' }))
  assert.deepEqual(machine.done, [
    'mount -t nfs -o ro files.example:/a kubernetes.io~nfs/v',
    'mount -t nfs -o nfsvers=4.1 [fd00::1]:/b kubernetes.io~nfs/pv-data',
  ])
  await node.now(node.runtimeHelper.cleanUp(pod))
  assert.equal(machine.done.at(-1), 'unmount kubernetes.io~nfs/v')
})

test('glusterfs: the machines that the endpoints name, the others as backups', { skip }, async () => {
  const machine = recordingMachine()
  await using node = await TestNode.start(machine)
  const subsets = [{ addresses: [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }], ports: [{ port: 1 }] }]
  await node.cluster.client.create(Endpoints, { metadata: { name: 'gluster', namespace: 'default' }, subsets } as V1Endpoints)
  await node.sandbox(await node.create(withVolume({ glusterfs: { endpoints: 'gluster', path: 'vol', readOnly: true } })))
  assert.deepEqual(machine.done, [
    'mount -t glusterfs -o log-level=ERROR,auto_unmount,backup-volfile-servers=192.0.2.1:192.0.2.2,ro 192.0.2.1:vol kubernetes.io~glusterfs/v',
  ])
})

test('iscsi: found, logged in to with its password, formatted once, shared by pods, logged out after the last', { skip }, async () => {
  const machine = recordingMachine()
  const files = {
    ...nodeFiles,
    statTarget: (path: string) => nodeFiles.statTarget(path.startsWith('/dev/disk/by-path/') ? '/dev/null' : path),
  }
  await using node = await TestNode.start({ ...machine, files })
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const data = { 'node.session.auth.username': base64('user'), 'node.session.auth.password': base64('word') }
  await node.cluster.client.create(Secret, { metadata: { name: 'chap', namespace: 'default' }, type: 'kubernetes.io/iscsi-chap', data })
  const iscsi = {
    targetPortal: '192.0.2.1',
    iqn: 'iqn.2001-04.com.example:disk',
    lun: 2,
    fsType: 'xfs',
    chapAuthSession: true,
    secretRef: { name: 'chap' },
  }
  // As the attach/detach controller and the agent would tell.
  const name = 'kubernetes.io/iscsi/192.0.2.1:iqn.2001-04.com.example:disk:2'
  await node.cluster.client.create(Node, { metadata: { name: 'n1' } } as V1Node)
  const status = { volumesInUse: [name], volumesAttached: [{ name, devicePath: '' }] }
  await node.cluster.client.patch(Node, { name: 'n1' }, { status }, { type: 'merge', subresource: 'status' })
  const [one, two] = [await node.create(withVolume({ iscsi })), await node.create(withVolume({ iscsi }), { name: 'two' })]
  await node.sandbox(one)
  const device = '/dev/disk/by-path/ip-192.0.2.1:3260-iscsi-iqn.2001-04.com.example:disk-lun-2'
  const disk = '192.0.2.1:3260-iqn.2001-04.com.example:disk-lun-2'
  const found = '-m discoverydb -t sendtargets -p 192.0.2.1:3260 -I default'
  const target = '-m node -p 192.0.2.1:3260 -T iqn.2001-04.com.example:disk'
  assert.deepEqual(machine.done, [
    `iscsiadm ${found} -o new`,
    `iscsiadm ${found} --discover`,
    `iscsiadm ${target} -I default -o update -n node.session.auth.authmethod -v CHAP`,
    `iscsiadm ${target} -I default -o update -n node.session.auth.password -v word`,
    `iscsiadm ${target} -I default -o update -n node.session.auth.username -v user`,
    `iscsiadm ${target} -I default --login`,
    `blkid -p -s TYPE -s PTTYPE -o export ${device}`,
    `mkfs.xfs -f ${device}`,
    `mount -t xfs -o defaults,nouuid ${device} iface-default/${disk}`,
    `bind iface-default/${disk} kubernetes.io~iscsi/v`,
  ])
  await node.sandbox(two)
  machine.done.length = 0
  await node.now(node.runtimeHelper.cleanUp(one))
  await node.now(node.runtimeHelper.cleanUp(two))
  assert.deepEqual(machine.done, [
    'unmount kubernetes.io~iscsi/v',
    'unmount kubernetes.io~iscsi/v',
    `unmount iface-default/${disk}`,
    `iscsiadm ${target} --logout`,
  ])
})

test('rbd: mapped with the key, mounted, unmapped', { skip }, async () => {
  const machine = recordingMachine({ rbd: '/dev/rbd0\n' })
  await using node = await TestNode.start(machine)
  const data = { key: Buffer.from('S3cret==').toString('base64') }
  await node.cluster.client.create(Secret, { metadata: { name: 'ceph', namespace: 'default' }, data })
  const rbd = {
    monitors: ['192.0.2.1:6789', '192.0.2.2:6789'],
    image: 'disk',
    pool: 'kube',
    user: 'kube',
    secretRef: { name: 'ceph' },
    fsType: 'ext4',
  }
  const pod = await node.create(withVolume({ rbd }))
  await node.sandbox(pod)
  assert.deepEqual(machine.done, [
    'rbd map kube/disk --id kube -m 192.0.2.1:6789,192.0.2.2:6789 --key=S3cret==',
    'blkid -p -s TYPE -s PTTYPE -o export /dev/rbd0',
    'mkfs.ext4 -F -m0 /dev/rbd0',
    'mount -t ext4 -o defaults /dev/rbd0 mounts/kube-image-disk',
    'bind mounts/kube-image-disk kubernetes.io~rbd/v',
  ])
})

/** A machine without programs, as `spawn` says it. */
const bareProcesses: Processes = {
  ...nodeProcesses,
  async run(command) {
    if (command !== 'sh') throw new Error(`spawn ${command} ENOENT`)
    return { exitCode: 127, signal: null, stdout: '', stderr: '' }
  },
}

test('a pod that waits for a disk which the machine has no program for can be deleted', { skip }, async () => {
  const { mounts, done } = recordingMachine()
  await using node = await TestNode.start({ mounts, processes: bareProcesses })
  const name = 'kubernetes.io/iscsi/192.0.2.1:iqn.2001-04.com.example:disk:0'
  await node.cluster.client.create(Node, { metadata: { name: 'n1' } } as V1Node)
  const status = { volumesInUse: [name], volumesAttached: [{ name, devicePath: '' }] }
  await node.cluster.client.patch(Node, { name: 'n1' }, { status }, { type: 'merge', subresource: 'status' })
  const pod = await node.create(withVolume({ iscsi: { targetPortal: '192.0.2.1', iqn: 'iqn.2001-04.com.example:disk', lun: 0 } }))
  const abort = new AbortController()
  const waiting = node.runtimeHelper.prepareSandbox(pod, abort.signal)
  waiting.catch(() => undefined)
  while (node.events.length === 0) await node.cluster.clock.settle()
  assert.match(node.events[0] ?? '', /this node has no program iscsiadm/)
  abort.abort(new Error('given up'))
  await assert.rejects(node.now(waiting), /given up/)
  await node.now(node.runtimeHelper.cleanUp(pod))
  assert.deepEqual(done, [])
})

test('what the machine has no program for is told of', { skip }, async () => {
  const { mounts } = recordingMachine()
  await using node = await TestNode.start({ mounts, processes: bareProcesses })
  const pod = await node.create(withVolume({ nfs: { server: 's', path: '/' } }))
  const why = 'this node has no program mount.nfs, which this kind of volume needs; it is in the package nfs-common'
  assert.equal(await node.eventOf(pod), `FailedMount: MountVolume.SetUp failed for volume "v" : ${why}`)
})
