import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resourceClaimResource, resourceClaimTemplateResource, resourceSliceResource } from '#api/resource/v1beta1/resource.ts'
import type { V1beta1DeviceRequest } from '#api/resource/v1beta1/types.gen.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { type Random, seededRandom } from '#base/random.ts'

function thereAndBack({ storedAs }: Pick<ResourceDefinition, 'storedAs'>, object: object): unknown {
  assert.ok(storedAs)
  return storedAs.fromStored(storedAs.toStored(structuredClone(object)))
}

function randomRequest(random: Random): V1beta1DeviceRequest {
  const name = `r${random.int(9)}`
  if (random.int(2)) return { name, firstAvailable: [{ name: 's', deviceClassName: 'c', allocationMode: 'All' }] }
  return {
    name,
    deviceClassName: 'c',
    allocationMode: 'ExactCount',
    count: 1 + random.int(9),
    ...(random.int(2) && { adminAccess: false }),
    ...(random.int(2) && { selectors: [{ cel: { expression: 'true' } }] }),
    ...(random.int(2) && { tolerations: [{ operator: 'Exists' }] }),
  }
}

test('claims, templates and slices come back from v1 unchanged', () => {
  const seed = 42
  const random = seededRandom(seed)
  for (let round = 0; round < 1000; round++) {
    const message = `seed ${seed}, round ${round}`
    const apiVersion = 'resource.k8s.io/v1beta1'
    const spec = random.int(5) ? { devices: { requests: Array.from({ length: random.int(3) }, () => randomRequest(random)) } } : {}
    const claim = { apiVersion, metadata: { name: 'a' }, spec }
    assert.deepEqual(thereAndBack(resourceClaimResource, claim), claim, message)
    const template = { apiVersion, metadata: { name: 'a' }, spec: { metadata: { labels: { a: 'b' } }, spec } }
    assert.deepEqual(thereAndBack(resourceClaimTemplateResource, template), template, message)
    const device = {
      name: 'x',
      basic: { ...(random.int(2) && { attributes: { m: { int: random.int(9) } } }), ...(random.int(2) && { allNodes: true }) },
    }
    const where = random.int(2) ? { nodeName: 'n' } : { allNodes: true }
    const slice = {
      apiVersion,
      metadata: { name: 'a' },
      spec: { driver: 'd', pool: { name: 'p' }, ...where, ...(random.int(2) && { devices: [device] }) },
    }
    assert.deepEqual(thereAndBack(resourceSliceResource, slice), slice, message)
  }
})

test('a request’s wishes move under `exactly`, a device’s facts out of `basic`', () => {
  const toStored = resourceClaimResource.storedAs?.toStored
  assert.deepEqual(toStored?.({ metadata: {}, spec: { devices: { requests: [{ name: 'r', deviceClassName: 'c' }] } } }), {
    apiVersion: 'resource.k8s.io/v1',
    metadata: {},
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } },
  })
  const sliceToStored = resourceSliceResource.storedAs?.toStored
  assert.deepEqual(
    sliceToStored?.({ metadata: {}, spec: { nodeName: '', allNodes: false, devices: [{ name: 'x', basic: { capacity: {} } }] } }),
    {
      apiVersion: 'resource.k8s.io/v1',
      metadata: {},
      spec: { devices: [{ name: 'x', capacity: {} }] },
    },
  )
})
