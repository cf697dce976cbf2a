import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceClassResource } from '#api/resource/v1/device-class.ts'
import { resourceClaimResource } from '#api/resource/v1/resource-claim.ts'
import { resourceClaimTemplateResource } from '#api/resource/v1/resource-claim-template.ts'
import { resourceSliceResource } from '#api/resource/v1/resource-slice.ts'
import type {
  V1Device,
  V1DeviceClaim,
  V1DeviceRequest,
  V1ResourceClaim,
  V1ResourceClaimStatus,
  V1ResourceSlice,
  V1ResourceSliceSpec,
} from '#api/resource/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }
const clusterMetadata = { name: 'a', resourceVersion: '1' }
const on = { isEnabled: () => true }
const request = (fields: Partial<V1DeviceRequest> = {}): V1DeviceRequest => ({ name: 'r', exactly: { deviceClassName: 'c' }, ...fields })
const claim = (devices: V1DeviceClaim = { requests: [request()] }): V1ResourceClaim => ({ metadata, spec: { devices } })

test('claims are validated in the words clients know', () => {
  const at = 'spec.devices.requests[0]'
  const wanted = (fields: object): V1DeviceClaim => ({ requests: [request({ exactly: { deviceClassName: 'c', ...fields } })] })
  const cases: [string, V1DeviceClaim, string[]][] = [
    ['nothing', {}, []],
    ['one device', { requests: [request()] }, []],
    [
      'one of two',
      {
        requests: [
          {
            name: 'r',
            firstAvailable: [
              { name: 'x', deviceClassName: 'c' },
              { name: 'y', deviceClassName: 'd' },
            ],
          },
        ],
      },
      [],
    ],
    [
      'a request for nothing',
      { requests: [{ name: 'r' }] },
      [`${at}: Required value: exactly one of \`exactly\` or \`firstAvailable\` is required`],
    ],
    ['the same name twice', { requests: [request(), request()] }, ['spec.devices.requests[1]: Duplicate value: "r"']],
    ['fewer than none', wanted({ count: -1 }), [`${at}.exactly.count: Invalid value: -1: must be greater than zero`]],
    [
      'all two',
      wanted({ allocationMode: 'All', count: 2 }),
      [`${at}.exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'`],
    ],
    [
      'an unknown mode',
      wanted({ allocationMode: 'Nope' }),
      [`${at}.exactly.allocationMode: Unsupported value: "Nope": supported values: "All", "ExactCount"`],
    ],
    ['no class', wanted({ deviceClassName: '' }), [`${at}.exactly.deviceClassName: Required value`]],
    [
      'a toleration of nothing known',
      wanted({ tolerations: [{ operator: 'Nope' }] }),
      [`${at}.exactly.tolerations[0].operator: Unsupported value: "Nope": supported values: "Equal", "Exists"`],
    ],
    [
      'a constraint on others',
      { requests: [request()], constraints: [{ requests: ['x'], matchAttribute: 'a/b' }] },
      [
        'spec.devices.constraints[0].requests[0]: Invalid value: "x": must be the name of a request in the claim or the name of a request and a subrequest separated by \'/\'',
      ],
    ],
    ['a configuration of nothing', { requests: [request()], config: [{}] }, ['spec.devices.config[0].opaque: Required value']],
    [
      'too much',
      { requests: Array.from({ length: 33 }, (_, index) => request({ name: `r${index}` })) },
      ['spec.devices.requests: Too many: 33: must have at most 32 items'],
    ],
  ]
  for (const [name, devices, errors] of cases) assert.deepEqual(tryCreate(resourceClaimResource, claim(devices), on).errors, errors, name)
})

test('a request is for exactly one device', () => {
  const [first] = tryCreate(resourceClaimResource, claim(), on).object.spec.devices?.requests ?? []
  assert.deepEqual(first?.exactly, { deviceClassName: 'c', allocationMode: 'ExactCount', count: 1 })
})

test('only namespaces of administrators get access to devices in use', () => {
  const devices = { requests: [request({ exactly: { deviceClassName: 'c', adminAccess: true } })] }
  const detail = 'admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace'
  assert.deepEqual(tryCreate(resourceClaimResource, claim(devices), on).errors, [
    `spec.devices.requests[0].adminAccess: Forbidden: ${detail}`,
  ])
  const labelsOfNamespace = () => ({ 'resource.kubernetes.io/admin-access': 'true' })
  assert.deepEqual(tryCreate(resourceClaimResource, claim(devices), { ...on, labelsOfNamespace }).errors, [])
})

test('what a claim asks for never changes', () => {
  const prev = tryCreate(resourceClaimResource, claim(), on).object
  const [error = ''] = tryUpdate(resourceClaimResource, prev, claim({ requests: [request({ name: 's' })] }), on).errors
  assert.match(error, /^spec: Invalid value: \{"Devices":\{"Requests":\[\{"Name":"s",.*\}\}: field is immutable$/)
  const template = { metadata, spec: { spec: { devices: { requests: [request()] } } } }
  const other = { metadata, spec: { spec: { devices: { requests: [request({ name: 's' })] } } } }
  assert.equal(
    tryUpdate(resourceClaimTemplateResource, tryCreate(resourceClaimTemplateResource, template, on).object, other, on).errors.length,
    1,
  )
})

test('a claim is reserved once it is allocated, and its devices report', () => {
  const prev = tryCreate(resourceClaimResource, claim(), on).object
  const result = { request: 'r', driver: 'd.example.com', pool: 'p', device: 'x' }
  const allocation = { devices: { results: [result] } }
  const pod = { resource: 'pods', name: 'p', uid: 'u' }
  const device = { driver: 'd.example.com', pool: 'p', device: 'x' }
  const cases: [string, V1ResourceClaimStatus, string[]][] = [
    ['allocated', { allocation, reservedFor: [pod], devices: [device] }, []],
    ['reserved before', { reservedFor: [pod] }, ['status.reservedFor: Forbidden: may not be specified when `allocated` is not set']],
    ['reserved twice', { allocation, reservedFor: [pod, pod] }, ['status.reservedFor[1]: Duplicate value: "u"']],
    [
      'a device of others',
      { allocation, devices: [{ ...device, device: 'y' }] },
      ['status.devices[0]: Invalid value: {"Driver":{},"Pool":{},"Device":{},"ShareID":{}}: must be an allocated device in the claim'],
    ],
    [
      'a request of others',
      { allocation: { devices: { results: [{ ...result, request: 'z' }] } } },
      [
        'status.allocation.devices.results[0].request: Invalid value: "z": must be the name of a request in the claim or the name of a request and a subrequest separated by \'/\'',
      ],
    ],
  ]
  for (const [name, status, errors] of cases) {
    assert.deepEqual(tryUpdate(resourceClaimResource, prev, { ...prev, status }, { ...on, subresource: 'status' }).errors, errors, name)
  }
  const allocated = { ...prev, status: { allocation, devices: [device] } }
  const { object } = tryUpdate(
    resourceClaimResource,
    allocated,
    { ...allocated, status: { devices: [device] } },
    { ...on, subresource: 'status' },
  )
  assert.equal(object.status?.devices, undefined)
  assert.deepEqual(
    [
      tryRow(resourceClaimResource, prev)['State'],
      tryRow(resourceClaimResource, { ...prev, status: { allocation, reservedFor: [pod] } })['State'],
    ],
    ['pending', 'allocated,reserved'],
  )
})

test('device classes are validated in the words clients know', () => {
  const cases: [object, string[]][] = [
    [{ config: [{ opaque: { driver: 'd', parameters: {} } }] }, []],
    [{ config: [{ opaque: { driver: 'd' } }] }, ['spec.config[0].opaque.parameters: Required value']],
    [
      { config: [{ opaque: { driver: 'd', parameters: [] } }] },
      ['spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object'],
    ],
    [{ selectors: [{}] }, ['spec.selectors[0].cel: Required value']],
    [{ extendedResourceName: 'cpu' }, ['spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name']],
  ]
  for (const [spec, errors] of cases)
    assert.deepEqual(tryCreate(deviceClassResource, { metadata: clusterMetadata, spec }, on).errors, errors)
})

const slice = (spec: Partial<V1ResourceSliceSpec> = {}): V1ResourceSlice => ({
  metadata: clusterMetadata,
  spec: { driver: 'd.example.com', pool: { name: 'p', generation: 1, resourceSliceCount: 1 }, nodeName: 'n', ...spec },
})

test('slices are validated in the words clients know', () => {
  const device = (fields: Partial<V1Device>) => ({ devices: [{ name: 'x', ...fields }] })
  const capacity = (requestPolicy: object) => device({ allowMultipleAllocations: true, capacity: { m: { value: '10Gi', requestPolicy } } })
  const at = 'spec.devices[0]'
  const cases: [string, Partial<V1ResourceSliceSpec>, string[]][] = [
    ['a device', device({ attributes: { model: { string: 'a' }, 'example.com/v': { version: '1.2.3' } } }), []],
    ['steps of capacity', capacity({ default: '1Gi', validRange: { min: '1Gi', max: '4Gi', step: '1Gi' } }), []],
    [
      'two places',
      { allNodes: true },
      [
        'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set',
      ],
    ],
    [
      'no slices',
      { pool: { name: 'p', generation: 1, resourceSliceCount: 0 } },
      ['spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero'],
    ],
    ['no value', device({ attributes: { m: {} } }), [`${at}.attributes[m]: Invalid value: "": exactly one value must be specified`]],
    [
      'no version',
      device({ attributes: { m: { version: 'one' } } }),
      [`${at}.attributes[m].version: Invalid value: "one": must be a string compatible with semver.org spec 2.0.0`],
    ],
    [
      'an unknown effect',
      device({ taints: [{ key: 'k', effect: 'Nope' }] }),
      [`${at}.taints[0].effect: Unsupported value: "Nope": supported values: "NoExecute", "NoSchedule", "None"`],
    ],
    [
      'a place of its own',
      device({ nodeName: 'm' }),
      [
        `${at}: Invalid value: null: \`nodeName\`, \`nodeSelector\` and \`allNodes\` can only be set if \`perDeviceNodeSelection\` is set to true in the ResourceSlice spec`,
      ],
    ],
    [
      'a default between the steps',
      capacity({ default: '1536Mi', validRange: { min: '1Gi', step: '1Gi' } }),
      [
        `${at}.capacity[m].requestPolicy.validRange.step: Invalid value: "1536Mi": value is not a multiple of a given step (1Gi) from (1Gi)`,
      ],
    ],
    [
      'half of what it takes to bind',
      device({ bindingConditions: ['a'] }),
      [`${at}.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions`],
    ],
  ]
  for (const [name, spec, errors] of cases) assert.deepEqual(tryCreate(resourceSliceResource, slice(spec), on).errors, errors, name)
})

test('a slice stays with its node and driver, and stamps its taints', () => {
  const prev = slice({ devices: [{ name: 'x', taints: [{ key: 'k', effect: 'NoSchedule' }] }] })
  assert.equal(tryCreate(resourceSliceResource, prev, on).object.spec.devices?.[0]?.taints?.[0]?.timeAdded, '2026-01-02T03:04:05Z')
  assert.deepEqual(tryUpdate(resourceSliceResource, prev, slice({ nodeName: 'm', driver: 'E.example.com' }), on), {
    ...tryUpdate(resourceSliceResource, prev, slice({ nodeName: 'm', driver: 'E.example.com' }), on),
    errors: ['spec.driver: Invalid value: "E.example.com": field is immutable', 'spec.nodeName: Invalid value: "m": field is immutable'],
    warnings: ['spec.driver: driver names should be lowercase; "E.example.com" contains uppercase characters'],
  })
})

test('fields whose gate is off are dropped', () => {
  const { spec } = tryCreate(
    resourceSliceResource,
    slice({ devices: [{ name: 'x', taints: [{ key: 'k', effect: 'None' }], allowMultipleAllocations: true }] }),
  ).object
  assert.deepEqual(spec.devices, [{ name: 'x' }])
})
