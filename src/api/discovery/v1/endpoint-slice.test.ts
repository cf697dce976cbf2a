import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointSliceResource } from '#api/discovery/v1/endpoint-slice.ts'
import type { V1Endpoint, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1', labels: {} }
const slice = (fields: Partial<V1EndpointSlice> = {}): V1EndpointSlice => ({ metadata, addressType: 'IPv4', ...fields })
const at = (...addresses: string[]): { endpoints: V1Endpoint[] } => ({ endpoints: [{ addresses }] })
const on = { isEnabled: () => true }

test('slices are validated in the words clients know', () => {
  const cases: [string, Partial<V1EndpointSlice>, string[]][] = [
    ['an address', at('10.0.0.1'), []],
    ['another family', { addressType: 'IPv6', ...at('fd00::1') }, []],
    ['no type', { addressType: '' }, ['addressType: Required value']],
    ['an unknown type', { addressType: 'X' }, ['addressType: Unsupported value: "X": supported values: "FQDN", "IPv4", "IPv6"']],
    ['no address', { endpoints: [{ addresses: [] }] }, ['endpoints[0].addresses: Required value: must contain at least 1 address']],
    [
      'no address at all',
      at('nope'),
      ['endpoints[0].addresses[0]: Invalid value: "nope": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ],
    ['the wrong family', at('fd00::1'), ['endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address']],
    [
      'oneself',
      at('127.0.0.1'),
      ['endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    ],
    ['the same port twice', { ports: [{ name: 'a' }, { name: 'a' }] }, ['ports[1].name: Duplicate value: "a"']],
    [
      'an unknown protocol',
      { ports: [{ protocol: 'X' }] },
      ['ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"'],
    ],
    [
      'the same zone twice',
      { endpoints: [{ addresses: ['10.0.0.1'], hints: { forZones: [{ name: 'z' }, { name: 'z' }] } }] },
      ['endpoints[0].hints.forZones[1].name: Duplicate value: "z"'],
    ],
  ]
  for (const [name, fields, errors] of cases) assert.deepEqual(tryCreate(endpointSliceResource, slice(fields), on).errors, errors, name)
})

test('a port has a name, if an empty one, and a protocol', () => {
  assert.deepEqual(tryCreate(endpointSliceResource, slice({ ports: [{ port: 80 }] })).object.ports, [
    { port: 80, name: '', protocol: 'TCP' },
  ])
})

test('endpoints that are wrong by newer rules may stay as they are', () => {
  const prev = slice(at('010.0.0.1'))
  assert.deepEqual(tryUpdate(endpointSliceResource, prev, slice({ ...at('010.0.0.1'), ports: [{ port: 1 }] }), on).errors, [])
  assert.deepEqual(tryUpdate(endpointSliceResource, prev, slice(at('010.0.0.2')), on).errors, [
    'endpoints[0].addresses[0]: Invalid value: "010.0.0.2": must not have leading 0s',
  ])
  assert.deepEqual(tryUpdate(endpointSliceResource, slice(), slice({ addressType: 'IPv6' })).errors, [
    'addressType: Invalid value: "IPv6": field is immutable',
  ])
})

test('topology is dropped, but the node that was in it stays', () => {
  const old: V1Endpoint = { addresses: ['10.0.0.1'], deprecatedTopology: { 'kubernetes.io/hostname': 'n' } }
  assert.deepEqual(tryCreate(endpointSliceResource, slice({ endpoints: [old] })).object.endpoints, [{ addresses: ['10.0.0.1'] }])
  const changed = { ...old, addresses: ['10.0.0.2'] }
  const { object } = tryUpdate(endpointSliceResource, slice({ endpoints: [old] }), slice({ endpoints: [changed] }))
  assert.deepEqual(object.endpoints, [{ addresses: ['10.0.0.2'], nodeName: 'n' }])
})

test('names instead of addresses are warned of', () => {
  const { warnings } = tryCreate(endpointSliceResource, slice({ addressType: 'FQDN', ...at('example.com') }))
  assert.deepEqual(warnings, ['spec.addressType: FQDN endpoints are deprecated'])
})

test('a row shows three of each', () => {
  const row = tryRow(
    endpointSliceResource,
    slice({ ...at('10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'), ports: [{ port: 80 }, { name: 'x' }] }),
  )
  assert.deepEqual([row['Ports'], row['Endpoints']], ['80,x', '10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...'])
  assert.equal(tryRow(endpointSliceResource, slice())['Endpoints'], '<unset>')
})
