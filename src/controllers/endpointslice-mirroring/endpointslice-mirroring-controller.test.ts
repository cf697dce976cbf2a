import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Endpoints, Event, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1EndpointSubset } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const namespace = 'default'
const ports = [{ name: 'http', port: 80, protocol: 'TCP' }]
const at = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ ip: `192.0.2.${from + index}` }))

async function mirrored(subsets: V1EndpointSubset[], mirroringMaxEndpointsPerSubset = 1000) {
  const cluster = await FakeCluster.start({
    withoutNodes: true,
    controllers: ['endpointslicemirroring'],
    settings: { mirroringMaxEndpointsPerSubset },
  })
  await cluster.create(Service, { metadata: { namespace, name: 'own' }, spec: { ports: [{ name: 'http', port: 80 }] } })
  await cluster.create(Endpoints, { metadata: { namespace, name: 'own' }, subsets })
  await cluster.advance({ seconds: 10 })
  return cluster
}

test('a subset has one slice, however many endpoints it has', async () => {
  await using cluster = await mirrored([{ addresses: at(1, 151), ports }])
  const slices = await cluster.list(EndpointSlice, namespace)
  assert.deepEqual(
    slices.map(({ endpoints }) => endpoints?.length),
    [150],
  )
})

test('subsets with the same ports share a slice, which then stays as it is', async () => {
  await using cluster = await mirrored([
    { addresses: at(1, 3), ports },
    { notReadyAddresses: at(3, 4), ports },
  ])
  const shown = async () =>
    (await cluster.list(EndpointSlice, namespace)).map(({ metadata, endpoints }) => [
      metadata.generation,
      endpoints?.map(({ addresses, conditions }) => `${addresses.join()} ${conditions?.ready}`),
    ])
  assert.deepEqual(await shown(), [[1, ['192.0.2.1 true', '192.0.2.2 true', '192.0.2.3 false']]])
  await cluster.change(Endpoints, namespace, 'own', ({ metadata }) => void Object.assign(metadata, { finalizers: ['example.com/wait'] }))
  await cluster.advance({ seconds: 10 })
  assert.deepEqual(await shown(), [[1, ['192.0.2.1 true', '192.0.2.2 true', '192.0.2.3 false']]])
})

test('addresses beyond the limit are left out, and told of', async () => {
  await using cluster = await mirrored([{ addresses: at(1, 6), ports }], 3)
  const [slice] = await cluster.list(EndpointSlice, namespace)
  assert.equal(slice?.endpoints?.length, 3)
  const [event] = await cluster.list(Event, namespace)
  assert.deepEqual([event?.reason, event?.source?.component], ['TooManyAddressesToMirror', 'endpoint-slice-mirroring-controller'])
})
