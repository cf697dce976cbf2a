import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csiDriverResource } from '#api/storage/v1/csi-driver.ts'
import { csiNodeResource } from '#api/storage/v1/csi-node.ts'
import { csiStorageCapacityResource } from '#api/storage/v1/csi-storage-capacity.ts'
import { storageClassResource } from '#api/storage/v1/storage-class.ts'
import type { V1CSIDriverSpec, V1CSINodeDriver, V1StorageClass, V1VolumeAttachment } from '#api/storage/v1/types.gen.ts'
import { volumeAttachmentResource } from '#api/storage/v1/volume-attachment.ts'
import { volumeAttributesClassResource } from '#api/storage/v1/volume-attributes-class.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', resourceVersion: '1' }
const stable = { isEnabled: (gate: string) => gate !== 'VolumeLimitScaling' }

test('storage classes are filled in and validated', () => {
  const of = (change: Partial<V1StorageClass> = {}): V1StorageClass => ({ metadata, provisioner: 'example.com/p', ...change })
  const { object } = tryCreate(storageClassResource, of())
  assert.deepEqual([object.reclaimPolicy, object.volumeBindingMode], ['Delete', 'Immediate'])
  const term = { matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }
  const cases: [Partial<V1StorageClass>, string[]][] = [
    [{}, []],
    [{ provisioner: '' }, ['provisioner: Required value']],
    [{ reclaimPolicy: 'Recycle' }, ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"']],
    [
      { volumeBindingMode: 'Later' },
      ['volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"'],
    ],
    [{ parameters: { '': 'x' } }, ['parameters: Invalid value: "": field can not be empty.']],
    [{ parameters: { a: 'x'.repeat(256 * 1024) } }, ['parameters: Too long: may not be more than 262144 bytes']],
    [{ allowedTopologies: [term] }, []],
    [{ allowedTopologies: [{}] }, ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""']],
    [{ allowedTopologies: [term, term] }, ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""']],
    [
      {
        allowedTopologies: [
          {
            matchLabelExpressions: [
              { key: 'zone', values: ['a', 'a'] },
              { key: 'zone', values: [] },
            ],
          },
        ],
      },
      [
        'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
        'allowedTopologies[0].matchLabelExpressions[1].values: Required value',
        'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "zone"',
      ],
    ],
  ]
  for (const [change, errors] of cases) assert.deepEqual(tryCreate(storageClassResource, of(change)).errors, errors)

  const changed = tryUpdate(storageClassResource, object, {
    ...object,
    provisioner: 'example.com/q',
    parameters: { a: 'b' },
    reclaimPolicy: 'Retain',
  })
  assert.deepEqual(changed.errors, [
    'parameters: Invalid value: {"a":"b"}: field is immutable',
    'provisioner: Invalid value: "example.com/q": field is immutable',
    'reclaimPolicy: Invalid value: "Retain": field is immutable',
  ])
  const deprecated = { matchLabelExpressions: [{ key: 'failure-domain.beta.kubernetes.io/zone', values: ['a'] }] }
  assert.deepEqual(tryCreate(storageClassResource, of({ allowedTopologies: [deprecated] })).warnings, [
    'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  ])
  const annotations = { 'storageclass.beta.kubernetes.io/is-default-class': 'true' }
  assert.deepEqual(tryRow(storageClassResource, of({ metadata: { name: 'a', annotations } })), {
    Name: 'a (default)',
    Provisioner: 'example.com/p',
    ReclaimPolicy: 'Delete',
    VolumeBindingMode: 'Immediate',
    AllowVolumeExpansion: false,
    Age: '<unknown>',
  })
})

test('CSI drivers are filled in and validated', () => {
  const of = (spec: V1CSIDriverSpec = {}) => ({ metadata, spec })
  assert.deepEqual(tryCreate(csiDriverResource, of(), stable).object.spec, {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    volumeLifecycleModes: ['Persistent'],
    requiresRepublish: false,
    seLinuxMount: false,
  })
  const cases: [V1CSIDriverSpec, string[]][] = [
    [{ fsGroupPolicy: 'X' }, ['spec.fsGroupPolicy: Unsupported value: "X": supported values: "File", "None", "ReadWriteOnceWithFSType"']],
    [{ volumeLifecycleModes: ['X'] }, ['spec.volumeLifecycleModes: Unsupported value: "X": supported values: "Persistent", "Ephemeral"']],
    [
      { tokenRequests: [{ audience: 'a', expirationSeconds: 5 }, { audience: 'a' }] },
      [
        'spec.tokenRequests[0].expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes',
        'spec.tokenRequests[1].audience: Duplicate value: "a"',
      ],
    ],
    [
      { nodeAllocatableUpdatePeriodSeconds: 1 },
      ['spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 1: must be greater than or equal to 10 seconds'],
    ],
    [
      { serviceAccountTokenInSecrets: true },
      ['spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified'],
    ],
  ]
  for (const [spec, errors] of cases) assert.deepEqual(tryCreate(csiDriverResource, of(spec), stable).errors, errors)
  const prev = tryCreate(csiDriverResource, of(), stable).object
  const next = { ...prev, spec: { ...prev.spec, attachRequired: false, volumeLifecycleModes: ['Ephemeral'] } }
  assert.deepEqual(tryUpdate(csiDriverResource, prev, next, stable).errors, [
    'spec.attachedRequired: Invalid value: false: field is immutable',
    'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
  ])
  assert.equal(tryCreate(csiDriverResource, of({ tokenRequests: [{ audience: 'a' }] }), stable).warnings.length, 1)
  assert.equal(
    tryCreate(csiDriverResource, of({ preventPodSchedulingIfMissing: true }), stable).object.spec.preventPodSchedulingIfMissing,
    undefined,
  )
  assert.equal(tryCreate(csiDriverResource, of(), { isEnabled: () => true }).object.spec.preventPodSchedulingIfMissing, false)
})

test('CSI nodes list each driver once, and a driver keeps what it said', () => {
  const driver = { name: 'd.example.com', nodeID: 'n', topologyKeys: ['zone'] }
  const of = (...drivers: V1CSINodeDriver[]) => ({ metadata, spec: { drivers } })
  const cases: [V1CSINodeDriver[], string[]][] = [
    [[driver], []],
    [[driver, driver], ['spec.drivers[1].name: Duplicate value: "d.example.com"']],
    [[{ name: '', nodeID: '' }], ['spec.drivers[0].name: Required value', 'spec.drivers[0].nodeID: Required value']],
    [[{ ...driver, topologyKeys: ['z', 'z'] }], ['spec.drivers[0]: Duplicate value: "z"']],
    [
      [{ ...driver, allocatable: { count: -1 } }],
      ['spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0'],
    ],
  ]
  for (const [drivers, errors] of cases) assert.deepEqual(tryCreate(csiNodeResource, of(...drivers)).errors, errors)
  const counted = { ...driver, allocatable: { count: 5 } }
  assert.deepEqual(tryUpdate(csiNodeResource, of(driver), of(counted), stable).errors, [])
  assert.deepEqual(tryUpdate(csiNodeResource, of(driver), of({ ...driver, nodeID: 'm' }), stable).errors, [
    'spec.drivers: Invalid value: {"Name":"d.example.com","NodeID":"m","TopologyKeys":["zone"],"Allocatable":null}: field is immutable',
  ])
  assert.deepEqual(tryUpdate(csiNodeResource, of(driver), of(), stable).errors, [])
})

test('CSI storage capacities keep their class and topology', () => {
  const of = (change: object) => ({ metadata: { ...metadata, namespace: 'n' }, storageClassName: 'c', ...change })
  assert.deepEqual(tryCreate(csiStorageCapacityResource, of({ capacity: '-1' })).errors, [
    'capacity: Invalid value: "-1": must be greater than or equal to 0',
  ])
  assert.deepEqual(tryUpdate(csiStorageCapacityResource, of({}), of({ storageClassName: 'd', nodeTopology: {} })).errors, [
    'nodeTopology: Invalid value: {}: field is immutable',
    'storageClassName: Invalid value: "d": field is immutable',
  ])
  const old = of({ nodeTopology: { matchLabels: { 'beta.kubernetes.io/os': 'linux' } } })
  assert.deepEqual(tryCreate(csiStorageCapacityResource, old).warnings, [
    'nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead',
  ])
})

test('volume attachments name a driver, a node and one volume, and start out detached', () => {
  const of = (spec: object, change: object = {}) => ({ metadata, spec, ...change }) as V1VolumeAttachment
  const good = { attacher: 'a.example.com', nodeName: 'n', source: { persistentVolumeName: 'pv' } }
  assert.deepEqual(tryCreate(volumeAttachmentResource, of(good, { status: { attached: true } })).object.status, { attached: false })
  const exactlyOne = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  assert.deepEqual(tryCreate(volumeAttachmentResource, of({ ...good, source: {}, attacher: '' })).errors, [
    'spec.attacher: Required value',
    `spec.source: Required value: ${exactlyOne}`,
  ])
  assert.deepEqual(
    tryCreate(volumeAttachmentResource, of({ ...good, source: { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'] } } })).errors.slice(
      0,
      1,
    ),
    ['spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes'],
  )
  const prev = of(good)
  assert.deepEqual(tryUpdate(volumeAttachmentResource, prev, of({ ...good, nodeName: 'm' })).errors, [
    'spec: Invalid value: {"Attacher":"a.example.com","Source":{"PersistentVolumeName":"pv","InlineVolumeSpec":null},"NodeName":"m"}: field is immutable',
  ])
  const failed = of(good, { status: { attached: false, attachError: { message: 'x'.repeat(2000), errorCode: -1 } } })
  assert.deepEqual(tryUpdate(volumeAttachmentResource, prev, failed, { subresource: 'status', ...stable }).errors, [
    'status.attachError.message: Too long: may not be more than 262144 bytes',
    'status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive',
  ])
})

test('volume attributes classes need parameters and never change them', () => {
  const of = (change: object) => ({ metadata, driverName: 'd.example.com', parameters: { a: 'b' }, ...change })
  assert.deepEqual(tryCreate(volumeAttributesClassResource, of({ driverName: '', parameters: {} })).errors, [
    'driverName: Required value',
    'parameters: Required value: must contain at least one key/value pair',
  ])
  assert.deepEqual(tryUpdate(volumeAttributesClassResource, of({}), of({ driverName: 'e', parameters: { a: 'c' } })).errors, [
    'driverName: Forbidden: updates to driverName are forbidden.',
    'parameters: Forbidden: updates to parameters are forbidden.',
  ])
})
