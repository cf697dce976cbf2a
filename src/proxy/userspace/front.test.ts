import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import type { SocketAddress, Sockets } from '#base/sockets.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import type { PortPlan } from '#proxy/service-table/port-plan.ts'
import { OpenConversations, openFront } from '#proxy/userspace/front.ts'
import { RoundRobin } from '#proxy/userspace/round-robin.ts'

test('datagrams from many clients hold so many sockets at most: whoever was silent for longest gives up theirs', async () => {
  const clock = new VirtualClock()
  const held = new Set<number>()
  let count = 0
  let hear: (message: Uint8Array, from: SocketAddress) => void = () => {}
  const refused = () => Promise.reject(new Error('nobody is there'))
  const sockets: Sockets = {
    ...{ listenTcp: refused, connectTcp: refused },
    async bindUdp(at, onMessage) {
      hear = onMessage
      return { port: at.port, send() {}, close() {} }
    },
    connectUdp() {
      const id = count++
      held.add(id)
      return { port: 0, send() {}, close: () => void held.delete(id) }
    },
  }
  const endpoint = { text: '10.0.0.1:53', ip: '10.0.0.1', port: 53 } as Endpoint
  const plan = { port: { protocol: 'UDP', affinitySeconds: undefined } } as unknown as PortPlan
  const open = new OpenConversations(100)
  const front = await openFront({
    ...{ at: { host: '0.0.0.0', port: 53 }, sockets, clock, logger: silentLogger, turns: new RoundRobin(clock), plan, open },
    choose: () => [endpoint],
  })
  const steady = { host: '192.0.2.1', port: 1 }
  for (let index = 0; index < 10_000; index++) {
    hear(new Uint8Array(1), steady)
    hear(new Uint8Array(1), { host: '198.51.100.1', port: index })
  }
  assert.equal(held.size, 100)
  assert.ok(held.has(0), 'who goes on speaking goes on')
  await front.close()
  assert.equal(held.size, 0)
})
