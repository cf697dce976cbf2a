import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serverIdentity } from '#apiserver/bootstrap/identity-lease.ts'
import { type ServerAddress, shareAddress } from '#apiserver/bootstrap/shared-addresses.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'

test('the API server of a machine has the name upstream would give it', () => {
  assert.equal(serverIdentity('vm'), 'apiserver-wlv32tlttr4jl3gtroqexyxapa')
  assert.match(serverIdentity('a.host.example.com'), /^apiserver-[a-z2-7]{26}$/)
})

test('servers that share a store all know where the others are, until they leave or crash', async () => {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  const received: Record<string, string[]> = {}
  const join = (address: string, leaving = new AbortController().signal) =>
    shareAddress({
      leaving,
      store,
      clock,
      logger: silentLogger,
      address,
      port: 6443,
      publish: async (addresses: readonly ServerAddress[]) => {
        received[address] = addresses.map((each) => each.address)
      },
    })
  const first = await join('10.0.0.1')
  assert.deepEqual(received, { '10.0.0.1': ['10.0.0.1'] })
  await using second = await join('10.0.0.2')
  void second
  const leases = await store.leases()
  await clock.advance({ seconds: 60 })
  assert.deepEqual(received, { '10.0.0.1': ['10.0.0.1', '10.0.0.2'], '10.0.0.2': ['10.0.0.1', '10.0.0.2'] })
  assert.equal((await store.leases()).length, leases.length, 'leases are renewed, not made anew')
  await first[Symbol.asyncDispose]()
  await clock.advance(1)
  assert.deepEqual(received['10.0.0.2'], ['10.0.0.2'])
  const ending = new AbortController()
  await using _third = await join('10.0.0.3', ending.signal)
  await clock.advance(1)
  assert.deepEqual(received['10.0.0.2'], ['10.0.0.2', '10.0.0.3'])
  ending.abort()
  await clock.advance({ seconds: 30 })
  assert.deepEqual(received['10.0.0.2'], ['10.0.0.2'], 'one that is about to end is no longer named')
})

test('a server whose key is gone names itself all the same, and brings it back', async () => {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  let received: string[] = []
  const publish = async (addresses: readonly ServerAddress[]) => {
    received = addresses.map((each) => each.address)
  }
  await using shared = await shareAddress({ store, clock, logger: silentLogger, address: '10.0.0.1', port: 6443, publish })
  void shared
  // As after a while without etcd: another that has died is still there, and this one is not.
  const key = '/registry/masterleases/10.0.0.2:6443'
  await store.txn({ success: [{ put: { key, value: Buffer.from('{"address":"10.0.0.2","port":6443}') } }] })
  for (const { id } of await store.leases()) await store.revokeLease(id)
  await clock.advance(1)
  assert.deepEqual(received, ['10.0.0.2', '10.0.0.1'])
  await clock.advance({ seconds: 11 })
  assert.equal((await store.range({ prefix: '/registry/masterleases/' })).kvs.length, 2)
})

test('a server says by which address others of its kind reach it', async () => {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  const received: ServerAddress[][] = []
  const publish = async (addresses: readonly ServerAddress[]) => void received.push([...addresses])
  const common = { store, clock, logger: silentLogger, port: 6443, publish }
  await using _first = await shareAddress({ ...common, address: '10.0.0.1', peer: '192.0.2.1:7443' })
  await using _second = await shareAddress({ ...common, address: '10.0.0.2' })
  assert.deepEqual(received.at(-1), [
    { address: '10.0.0.1', port: 6443, peer: '192.0.2.1:7443' },
    { address: '10.0.0.2', port: 6443 },
  ])
})
