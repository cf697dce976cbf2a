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
  const told: Record<string, string[]> = {}
  const join = (address: string) =>
    shareAddress({
      store,
      clock,
      logger: silentLogger,
      address,
      port: 6443,
      publish: async (addresses: readonly ServerAddress[]) => {
        told[address] = addresses.map((each) => each.address)
      },
    })
  const first = await join('10.0.0.1')
  assert.deepEqual(told, { '10.0.0.1': ['10.0.0.1'] })
  await using second = await join('10.0.0.2')
  void second
  const leases = await store.leases()
  await clock.advance({ seconds: 60 })
  assert.deepEqual(told, { '10.0.0.1': ['10.0.0.1', '10.0.0.2'], '10.0.0.2': ['10.0.0.1', '10.0.0.2'] })
  assert.equal((await store.leases()).length, leases.length, 'leases are renewed, not made anew')
  await first[Symbol.asyncDispose]()
  await clock.advance(1)
  assert.deepEqual(told['10.0.0.2'], ['10.0.0.2'])
})
