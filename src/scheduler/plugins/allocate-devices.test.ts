import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Device, V1DeviceClass, V1ExactDeviceRequest, V1ResourceClaim, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import { FakeCluster } from '#scheduler/testing/fake-cluster.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'

const deviceClass: V1DeviceClass = { metadata: { name: 'c' }, spec: {} }
const slice = (devices: V1Device[], more: Partial<V1ResourceSlice['spec']> = {}): V1ResourceSlice => ({
  metadata: { name: 's' },
  spec: { driver: 'gpu.com', nodeName: 'a', pool: { name: 'a', generation: 1, resourceSliceCount: 1 }, devices, ...more },
})
const claim = (name: string, request: Partial<V1ExactDeviceRequest> = {}, more: object = {}): V1ResourceClaim => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c', count: 1, ...request } }], ...more } },
})
const user = (name: string) => aPod(name, { spec: { resourceClaims: [{ name: 'd', resourceClaimName: name }] } })

/** Which claims got what, after a pod for each of them came. */
async function given(objects: { slice: V1ResourceSlice; claims: V1ResourceClaim[]; deviceClass?: V1DeviceClass }) {
  await using cluster = new FakeCluster()
  cluster.put('Node', aNode('a'))
  cluster.put('DeviceClass', objects.deviceClass ?? deviceClass)
  cluster.put('ResourceSlice', objects.slice)
  for (const each of objects.claims) {
    cluster.put('ResourceClaim', each)
    cluster.put('Pod', user(each.metadata?.name ?? ''))
    await cluster.settle()
  }
  return objects.claims.map(({ metadata }) => cluster.get('ResourceClaim', 'default', metadata?.name ?? '')?.status?.allocation?.devices)
}
const devicesOf = (allocations: Awaited<ReturnType<typeof given>>) =>
  allocations.map((each) => each?.results?.map(({ device }) => device).join() ?? 'none')

test('a device goes to one claim', async () => {
  assert.deepEqual(devicesOf(await given({ slice: slice([{ name: '0' }]), claims: [claim('x'), claim('y')] })), ['0', 'none'])
})

test('parts of a device draw on what they share', async () => {
  const part = (name: string, memory: string): V1Device => ({
    name,
    consumesCounters: [{ counterSet: 'gpu', counters: { memory: { value: memory } } }],
  })
  const parts = slice([part('whole', '40Gi'), part('half', '20Gi'), part('other-half', '20Gi')], {
    sharedCounters: [{ name: 'gpu', counters: { memory: { value: '40Gi' } } }],
  })
  const named = (name: string) => ({ selectors: [{ cel: { expression: 'true' } }], count: name === 'two' ? 2 : 1 })
  assert.deepEqual(devicesOf(await given({ slice: parts, claims: [claim('x'), claim('y')] })), ['whole', 'none'])
  assert.deepEqual(devicesOf(await given({ slice: parts, claims: [claim('two', named('two')), claim('y')] })), ['half,other-half', 'none'])
})

const shared: V1Device = {
  name: '0',
  allowMultipleAllocations: true,
  capacity: {
    memory: { value: '10Gi', requestPolicy: { default: '1Gi', validRange: { min: '1Gi', max: '8Gi', step: '1Gi' } } },
    slots: { value: '4', requestPolicy: { default: '1', validValues: ['1', '2'] } },
  },
}
const asking = (requests: Record<string, string>) => ({ capacity: { requests } })

test('a device that can be shared is, while there is enough of it', async () => {
  const claims = [
    claim('w', asking({ memory: '4500Mi' })),
    claim('x', asking({ memory: '4Gi' })),
    claim('y', asking({ memory: '2Gi' })),
    claim('z'),
  ]
  const allocations = await given({ slice: slice([shared]), claims })
  assert.deepEqual(devicesOf(allocations), ['0', '0', 'none', '0'])
  const [first] = allocations[0]?.results ?? []
  assert.deepEqual(first?.consumedCapacity, { memory: '5Gi', slots: '1' }, 'amounts are rounded up to what is given out')
  assert.match(first?.shareID ?? '', /^[0-9a-f-]{36}$/)
})

const refused: [string, Record<string, string>][] = [
  ['more than is given out at once', { memory: '9Gi' }],
  ['an amount that is not given out', { slots: '3' }],
  ['what the device does not have', { speed: '1' }],
]
for (const [name, requests] of refused) {
  test(`nobody gets ${name}`, async () => {
    assert.deepEqual(devicesOf(await given({ slice: slice([shared]), claims: [claim('x', asking(requests))] })), ['none'])
  })
}

test('drivers are told what the class and the claim have to say', async () => {
  const opaque = (driver: string) => ({ opaque: { driver, parameters: { a: driver } } })
  const [devices] = await given({
    slice: slice([{ name: '0' }]),
    deviceClass: { ...deviceClass, spec: { config: [opaque('of-class')] } },
    claims: [
      claim(
        'x',
        {},
        {
          config: [
            { requests: ['r'], ...opaque('of-claim') },
            { requests: ['other'], ...opaque('not-asked') },
          ],
        },
      ),
    ],
  })
  assert.deepEqual(devices?.config, [
    { source: 'FromClass', requests: ['r'], ...opaque('of-class') },
    { source: 'FromClaim', requests: ['r'], ...opaque('of-claim') },
  ])
})

test('a claim for which there are too many combinations to try is given up, and the next one gets its devices', async () => {
  const devices = Array.from({ length: 60 }, (_, index) => ({ name: `d${index}` }))
  const request = (name: string, count: number) => ({ name, exactly: { deviceClassName: 'c', count } })
  const greedy: V1ResourceClaim = {
    metadata: { name: 'greedy', namespace: 'default', uid: 'uid-greedy' },
    // Each alone could be met.
    spec: { devices: { requests: [request('a', 30), request('b', 31)] } },
  }
  assert.deepEqual(devicesOf(await given({ slice: slice(devices), claims: [greedy, claim('modest')] })), ['none', 'd0'])
})
