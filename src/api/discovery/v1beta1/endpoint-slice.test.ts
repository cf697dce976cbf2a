import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Endpoint, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { endpointSliceResource } from '#api/discovery/v1beta1/endpoint-slice.ts'
import type { V1beta1Endpoint, V1beta1EndpointSlice } from '#api/discovery/v1beta1/types.gen.ts'
import { tryCreateThrough } from '#api/testing/try-kind.ts'

const zone = 'topology.kubernetes.io/zone'
const hostname = 'kubernetes.io/hostname'
const addresses = ['10.0.0.1']

test('the zone and the node of an endpoint leave its topology', () => {
  const cases: [Partial<V1beta1Endpoint>, Partial<V1Endpoint>][] = [
    [{}, {}],
    [
      { topology: { [zone]: 'z', [hostname]: 'n' }, nodeName: 'n' },
      { zone: 'z', nodeName: 'n' },
    ],
    [
      { topology: { [hostname]: 'other' }, nodeName: 'n' },
      { nodeName: 'n', deprecatedTopology: { [hostname]: 'other' } },
    ],
    [{ topology: { rack: 'r', [zone]: 'z' } }, { zone: 'z', deprecatedTopology: { rack: 'r' } }],
  ]
  for (const [said, kept] of cases) {
    const slice = { metadata: { name: 'a', namespace: 'n' }, addressType: 'IPv4', endpoints: [{ addresses, conditions: {}, ...said }] }
    const { object, shown, errors } = tryCreateThrough<V1beta1EndpointSlice, V1EndpointSlice>(endpointSliceResource, slice)
    assert.deepEqual([errors, object.endpoints], [[], [{ addresses, conditions: {}, ...kept }]])
    assert.deepEqual(shown.endpoints, slice.endpoints)
    assert.equal(object.metadata.annotations, undefined)
  }
})
