import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Device, V1DeviceClass, V1DeviceRequest, V1ResourceClaim, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'
import { validate } from '#scheduler/testing/validate.ts'

const gpu = (name: string, model: string, memory: string, driver = '1.2.0'): V1Device => ({
  name,
  attributes: { model: { string: model }, 'vendor.com/driver': { version: driver }, index: { int: Number(name) }, healthy: { bool: true } },
  capacity: { memory: { value: memory } },
})
const slice = (node: string, ...devices: V1Device[]): V1ResourceSlice => ({
  metadata: { name: node },
  spec: { driver: 'gpu.com', nodeName: node, pool: { name: node, generation: 1, resourceSliceCount: 1 }, devices },
})
const slices = [slice('a', gpu('0', 'small', '8Gi'), gpu('1', 'small', '8Gi')), slice('b', gpu('0', 'large', '80Gi', '2.0.0'))]
const cel = (expression: string) => ({ cel: { expression } })
const nodes = [aNode('a'), aNode('b')]
const pod = aPod('p', { spec: { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] } })

type Wish = { ofClass?: string; ofRequest?: string; request?: Partial<NonNullable<V1DeviceRequest['exactly']>> }

async function asked({ ofClass, ofRequest, request }: Wish) {
  const claim: V1ResourceClaim = {
    metadata: { name: 'gpu', namespace: 'default', uid: 'g' },
    spec: {
      devices: {
        requests: [{ name: 'r', exactly: { deviceClassName: 'c', selectors: ofRequest ? [cel(ofRequest)] : [], count: 1, ...request } }],
      },
    },
  }
  const deviceClass: V1DeviceClass = { metadata: { name: 'c' }, spec: { selectors: ofClass ? [cel(ofClass)] : [] } }
  return validate('DynamicResources', {
    nodes,
    pod,
    objects: { ResourceClaim: [claim], ResourceSlice: slices, DeviceClass: [deviceClass] },
  })
}

const wishes: [string, Wish, string[]][] = [
  ['by driver', { ofClass: "device.driver == 'gpu.com'" }, ['a', 'b']],
  ['by another driver', { ofClass: "device.driver == 'other.com'" }, []],
  ['by an attribute of the driver', { ofRequest: "device.attributes['gpu.com'].model == 'large'" }, ['b']],
  ['by class and request together', { ofClass: "device.driver == 'gpu.com'", ofRequest: "device.attributes['gpu.com'].index > 0" }, ['a']],
  ['by version', { ofRequest: "device.attributes['vendor.com'].driver.isGreaterThan(semver('1.5.0'))" }, ['b']],
  ['by capacity', { ofRequest: "device.capacity['gpu.com'].memory.compareTo(quantity('10Gi')) >= 0" }, ['b']],
  ['by what may be missing', { ofRequest: "'speed' in device.attributes['gpu.com'] || device.attributes['gpu.com'].healthy" }, ['a', 'b']],
  ['by a domain that nobody has', { ofRequest: "device.attributes['nobody.com'].size() == 0" }, ['a', 'b']],
  ['with a name for a part', { ofRequest: "cel.bind(gpu, device.attributes['gpu.com'], gpu.model == 'small' && gpu.healthy)" }, ['a']],
  ['two of a kind', { ofRequest: "device.attributes['gpu.com'].model == 'small'", request: { count: 2 } }, ['a']],
  ['all of a kind', { ofRequest: "device.attributes['gpu.com'].model == 'large'", request: { allocationMode: 'All' } }, ['b']],
]
for (const [name, wish, feasible] of wishes) {
  test(`devices are selected ${name}`, async () => {
    const result = await asked(wish)
    assert.deepEqual(result.feasible, feasible, JSON.stringify(result.reasons))
  })
}

test('a selector that fails says where and how', async () => {
  const { reasons } = await asked({ ofRequest: "device.attributes['gpu.com'].nope == 'x'" })
  assert.equal(reasons['a'], 'claim default/gpu: selector #0: CEL runtime error: no such key: nope')
  const broken = await asked({ ofClass: 'device.nope' })
  assert.match(
    broken.reasons['b'] ?? '',
    /^class c: selector #0: CEL compile error: compilation failed: ERROR: <input>:1:7: undefined field 'nope'/,
  )
})
