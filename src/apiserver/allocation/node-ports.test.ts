import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AllocationError, RangeIsFull } from '#apiserver/allocation/cluster-ips.ts'
import { NodePorts } from '#apiserver/allocation/node-ports.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'

const range = [30000, 30009] as const

function setUp() {
  const store = new MemoryStore({ clock: new VirtualClock() })
  return { store, server: (seed: number) => new NodePorts(store, seededRandom(seed), range) }
}

test('two servers never give a port out twice, and see what the other has freed', async () => {
  const { server } = setUp()
  const [one, other] = [server(1), server(2)]
  const ports = await Promise.all(Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).allocateNext(false)))
  assert.deepEqual(
    ports.sort((left, right) => left - right),
    Array.from({ length: 10 }, (_, index) => 30000 + index),
  )
  await assert.rejects(one.allocateNext(false), RangeIsFull)
  await assert.rejects(other.allocate(30003, false), new AllocationError('provided port is already allocated'))
  await other.release(30003)
  assert.equal(await one.allocateNext(false), 30003)
  await assert.rejects(one.allocate(29999, false), /The range of valid ports is 30000-30009/)
})

test('a server that is alone frees at its start what no service uses; one of several waits until that is sure', async () => {
  const { store, server } = setUp()
  await server(1).allocate(30001, false)
  await server(1).allocate(30002, false)
  const claims = async () =>
    (await store.range({ prefix: '/registry/ranges/servicenodeports/', keysOnly: true })).kvs.map(({ key }) => key.slice(-5))
  const shared = server(2)
  await shared.start(new Set([30002, 30005]), true)
  assert.deepEqual(await claims(), ['30001', '30002', '30005'])
  for (let round = 0; round < 2; round++) await shared.repair(new Set([30002, 30005]))
  assert.deepEqual(await claims(), ['30001', '30002', '30005'])
  await shared.repair(new Set([30002, 30005]))
  assert.deepEqual(await claims(), ['30002', '30005'])
  await server(3).start(new Set([30002]), false)
  assert.deepEqual(await claims(), ['30002'])
})
