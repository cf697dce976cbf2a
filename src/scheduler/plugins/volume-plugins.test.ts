import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1PersistentVolume, V1PersistentVolumeClaim, V1PodSpec, V1Volume } from '#api/core/v1/types.gen.ts'
import type { V1ResourceClaim, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import type { V1StorageClass } from '#api/storage/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'
import { type Case, validate } from '#scheduler/testing/validate.ts'

type Row = { name: string; plugin: string; given: Case; feasible?: string[]; reasons?: Record<string, string>; refused?: string }

const zone = 'topology.kubernetes.io/zone'
const nodes = [aNode('a', { zone: 'x' }), aNode('b', { zone: 'y' })]
const volumes: V1Volume[] = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
const user = aPod('p', { spec: { volumes } })

const claim = (more: { spec?: V1PersistentVolumeClaim['spec']; bound?: string; status?: string } = {}): V1PersistentVolumeClaim => ({
  metadata: {
    name: 'data',
    namespace: 'default',
    uid: 'c',
    ...defined({ annotations: more.bound ? { 'pv.kubernetes.io/bind-completed': 'yes' } : undefined }),
  },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'late',
    resources: { requests: { storage: '5Gi' } },
    ...omitEmpty({ volumeName: more.bound }),
    ...more.spec,
  },
  status: { phase: more.status ?? (more.bound ? 'Bound' : 'Pending') },
})
const volume = (name: string, inZone: string, more: Partial<V1PersistentVolume['spec']> = {}): V1PersistentVolume => ({
  metadata: { name },
  spec: {
    capacity: { storage: '10Gi' },
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'late',
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: zone, operator: 'In', values: [inZone] }] }] } },
    ...more,
  },
  status: { phase: 'Available' },
})
const storageClass = (more: Partial<V1StorageClass> = {}): V1StorageClass => ({
  metadata: { name: 'late' },
  provisioner: 'kubernetes.io/no-provisioner',
  volumeBindingMode: 'WaitForFirstConsumer',
  ...more,
})
const nothingToBind = "node(s) didn't find available persistent volumes to bind"
const disk = (gcePersistentDisk: NonNullable<V1Volume['gcePersistentDisk']>): Partial<V1PodSpec> => ({
  volumes: [{ name: 'd', gcePersistentDisk }],
})
const device = (count: number): V1ResourceClaim => ({
  metadata: { name: 'gpu', namespace: 'default', uid: 'g' },
  spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpus', allocationMode: 'ExactCount', count } }] } },
})
const slice = (node: string, ...devices: string[]): V1ResourceSlice => ({
  metadata: { name: `slice-${node}` },
  spec: {
    driver: 'example.com',
    nodeName: node,
    pool: { name: node, generation: 1, resourceSliceCount: 1 },
    devices: devices.map((name) => ({ name })),
  },
})
const deviceUser = aPod('p', { spec: { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] } })
const gpus = { metadata: { name: 'gpus' }, spec: {} }

const rows: Row[] = [
  {
    name: 'the claim must be there',
    plugin: 'VolumeBinding',
    given: { nodes, pod: user },
    refused: 'persistentvolumeclaim "data" not found',
  },
  {
    name: 'a claim that binds at once must be bound',
    plugin: 'VolumeBinding',
    given: {
      nodes,
      pod: user,
      objects: { PersistentVolumeClaim: [claim()], StorageClass: [storageClass({ volumeBindingMode: 'Immediate' })] },
    },
    refused: 'pod has unbound immediate PersistentVolumeClaims',
  },
  {
    name: 'a bound volume must be in reach',
    plugin: 'VolumeBinding',
    given: { nodes, pod: user, objects: { PersistentVolumeClaim: [claim({ bound: 'v' })], PersistentVolume: [volume('v', 'y')] } },
    feasible: ['b'],
    reasons: { a: "node(s) didn't match PersistentVolume's node affinity" },
  },
  {
    name: 'a bound volume must exist',
    plugin: 'VolumeBinding',
    given: { nodes: [aNode('a')], pod: user, objects: { PersistentVolumeClaim: [claim({ bound: 'v' })] } },
    reasons: { a: 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)' },
  },
  {
    name: 'a claim that waits gets a volume that is large enough',
    plugin: 'VolumeBinding',
    given: {
      nodes,
      pod: user,
      objects: {
        PersistentVolumeClaim: [claim()],
        StorageClass: [storageClass()],
        PersistentVolume: [volume('small', 'x', { capacity: { storage: '1Gi' } }), volume('large', 'y')],
      },
    },
    feasible: ['b'],
    reasons: { a: nothingToBind },
  },
  {
    name: 'or one is provisioned, where the class allows it',
    plugin: 'VolumeBinding',
    given: {
      nodes,
      pod: user,
      objects: {
        PersistentVolumeClaim: [claim()],
        StorageClass: [
          storageClass({ provisioner: 'example.com', allowedTopologies: [{ matchLabelExpressions: [{ key: zone, values: ['x'] }] }] }),
        ],
      },
    },
    feasible: ['a'],
    reasons: { b: nothingToBind },
  },
  {
    name: 'and where there is room',
    plugin: 'VolumeBinding',
    given: {
      nodes,
      pod: user,
      objects: {
        PersistentVolumeClaim: [claim()],
        StorageClass: [storageClass({ provisioner: 'example.com' })],
        CSIDriver: [{ metadata: { name: 'example.com' }, spec: { storageCapacity: true } }],
        CSIStorageCapacity: [
          {
            metadata: { name: 'x', namespace: 'd' },
            storageClassName: 'late',
            capacity: '1Gi',
            nodeTopology: { matchLabels: { [zone]: 'x' } },
          },
          {
            metadata: { name: 'y', namespace: 'd' },
            storageClassName: 'late',
            capacity: '9Gi',
            nodeTopology: { matchLabels: { [zone]: 'y' } },
          },
        ],
      },
    },
    feasible: ['b'],
    reasons: { a: 'node(s) did not have enough free storage' },
  },
  {
    name: 'a disk that is written to has one user on a node',
    plugin: 'VolumeRestrictions',
    given: {
      nodes,
      pods: [aPod('q', { on: 'a', spec: { ...disk({ pdName: 'd' }), nodeName: 'a' } })],
      pod: aPod('p', { spec: disk({ pdName: 'd', readOnly: true }) }),
    },
    feasible: ['b'],
    reasons: { a: 'node(s) had no available disk' },
  },
  {
    name: 'a disk that all only read is shared',
    plugin: 'VolumeRestrictions',
    given: {
      nodes,
      pods: [aPod('q', { spec: { ...disk({ pdName: 'd', readOnly: true }), nodeName: 'a' } })],
      pod: aPod('p', { spec: disk({ pdName: 'd', readOnly: true }) }),
    },
    feasible: ['a', 'b'],
  },
  {
    name: 'a claim for one pod has one',
    plugin: 'VolumeRestrictions',
    given: {
      nodes: [aNode('a')],
      objects: { PersistentVolumeClaim: [claim({ spec: { accessModes: ['ReadWriteOncePod'] } })] },
      pods: [aPod('q', { spec: { volumes, nodeName: 'a' } })],
      pod: user,
    },
    reasons: { a: 'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod' },
  },
  {
    name: 'a volume of a zone is used there',
    plugin: 'VolumeZone',
    given: {
      nodes,
      pod: user,
      objects: {
        PersistentVolumeClaim: [claim({ bound: 'v' })],
        PersistentVolume: [{ metadata: { name: 'v', labels: { [zone]: 'x' } }, spec: {} }],
      },
    },
    feasible: ['a'],
    reasons: { b: 'node(s) had no available volume zone' },
  },
  {
    name: 'a driver attaches so many volumes',
    plugin: 'NodeVolumeLimits',
    given: {
      nodes,
      pod: user,
      pods: [aPod('q', { spec: { volumes: [{ name: 'o', persistentVolumeClaim: { claimName: 'other' } }], nodeName: 'a' } })],
      objects: {
        CSINode: [
          { metadata: { name: 'a' }, spec: { drivers: [{ name: 'example.com', nodeID: 'a', allocatable: { count: 1 } }] } },
          { metadata: { name: 'b' }, spec: { drivers: [{ name: 'example.com', nodeID: 'b', allocatable: { count: 1 } }] } },
        ],
        PersistentVolumeClaim: [claim({ bound: 'v' }), { ...claim({ bound: 'w' }), metadata: { name: 'other', namespace: 'default' } }],
        PersistentVolume: [
          { metadata: { name: 'v' }, spec: { csi: { driver: 'example.com', volumeHandle: '1' } } },
          { metadata: { name: 'w' }, spec: { csi: { driver: 'example.com', volumeHandle: '2' } } },
        ],
      },
    },
    feasible: ['b'],
    reasons: { a: 'node(s) exceed max volume count' },
  },
  {
    name: 'a claim that is not there refuses nodes, not the pod: VolumeBinding says why',
    plugin: 'NodeVolumeLimits',
    given: { nodes, pod: user, objects: {} },
    feasible: [],
    reasons: Object.fromEntries(['a', 'b'].map((name) => [name, 'looking up PVC default/data: persistentvolumeclaim "data" not found'])),
  },
  {
    name: 'volumes of old are attached by the drivers of today',
    plugin: 'NodeVolumeLimits',
    given: {
      nodes,
      pod: aPod('p', { spec: { volumes: [{ name: 'd', awsElasticBlockStore: { volumeID: 'aws://x/vol-1' } }] } }),
      pods: [aPod('q', { spec: { volumes: [{ name: 'o', persistentVolumeClaim: { claimName: 'other' } }], nodeName: 'a' } })],
      objects: {
        CSINode: ['a', 'b'].map((name) => ({
          metadata: { name },
          spec: { drivers: [{ name: 'ebs.csi.aws.com', nodeID: name, allocatable: { count: 1 } }] },
        })),
        PersistentVolumeClaim: [{ ...claim({ bound: 'w' }), metadata: { name: 'other', namespace: 'default' } }],
        PersistentVolume: [{ metadata: { name: 'w' }, spec: { awsElasticBlockStore: { volumeID: 'vol-2' } } }],
      },
    },
    feasible: ['b'],
    reasons: { a: 'node(s) exceed max volume count' },
  },
  {
    name: 'devices are where they are',
    plugin: 'DynamicResources',
    given: {
      nodes,
      pod: deviceUser,
      objects: { ResourceClaim: [device(2)], ResourceSlice: [slice('a', '0'), slice('b', '0', '1')], DeviceClass: [gpus] },
    },
    feasible: ['b'],
    reasons: { a: 'cannot allocate all claims' },
  },
  {
    name: 'devices that others have are taken',
    plugin: 'DynamicResources',
    given: {
      nodes,
      pod: deviceUser,
      objects: {
        ResourceClaim: [
          device(1),
          {
            ...device(1),
            metadata: { name: 'theirs', namespace: 'default', uid: 't' },
            status: { allocation: { devices: { results: [{ request: 'r', driver: 'example.com', pool: 'a', device: '0' }] } } },
          },
        ],
        ResourceSlice: [slice('a', '0'), slice('b', '0')],
        DeviceClass: [gpus],
      },
    },
    feasible: ['b'],
    reasons: { a: 'cannot allocate all claims' },
  },
  {
    name: 'the class must be there',
    plugin: 'DynamicResources',
    given: { nodes, pod: deviceUser, objects: { ResourceClaim: [device(1)], ResourceSlice: [slice('a', '0')] } },
    refused: 'request r: device class gpus does not exist',
  },
]

for (const { name, plugin, given, feasible = [], reasons = {}, refused } of rows) {
  test(`${plugin}: ${name}`, async () => {
    const result = await validate(plugin, given)
    assert.equal(result.refused, refused)
    assert.deepEqual(result.feasible, feasible)
    assert.deepEqual(result.reasons, reasons)
  })
}
