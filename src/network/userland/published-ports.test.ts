import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import type { SocketAddress, TcpConnection } from '#base/sockets.ts'
import { PublishedPorts } from '#network/userland/published-ports.ts'

function world({ taken = [] as number[] } = {}) {
  const open = new Set<number>()
  const onConnection = new Map<number, (connection: TcpConnection) => void>()
  const connected: SocketAddress[] = []
  const ports = new PublishedPorts({
    ...{ host: '127.0.0.1', nodeAddress: '198.18.0.2', logger: silentLogger },
    async listen({ port }) {
      if (taken.includes(port)) throw new Error('address already in use')
      return port
    },
    accept(port, receive) {
      open.add(port)
      onConnection.set(port, receive)
      return { port, close: async () => void open.delete(port) }
    },
    async connect(to) {
      connected.push(to)
      return { stream: new PassThrough(), remote: to, destroy: () => {} }
    },
  })
  return { ports, open: () => [...open].sort(), connected, onConnection }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a port is open for as long as a service wants it', async () => {
  const { ports, open } = world()
  ports.set('default/a', [30_001, 30_002])
  ports.set('default/b', [30_002])
  await settled()
  assert.deepEqual(open(), [30_001, 30_002])
  ports.set('default/a', [])
  await settled()
  assert.deepEqual(open(), [30_002])
  await ports.close()
  assert.deepEqual(open(), [])
})

test('a port that something else has is left to it, and the others open', async () => {
  const { ports, open } = world({ taken: [30_001] })
  ports.set('default/a', [30_001, 30_002])
  await settled()
  assert.deepEqual(open(), [30_002])
  ports.set('default/a', [])
  await settled()
  assert.deepEqual(open(), [])
})

test('who connects is connected to the same port of the node', async () => {
  const { ports, connected, onConnection } = world()
  ports.set('default/a', [30_001])
  await settled()
  onConnection.get(30_001)?.({ stream: new PassThrough(), remote: { host: '127.0.0.1', port: 5 }, destroy: () => {} })
  await settled()
  assert.deepEqual(connected, [{ host: '198.18.0.2', port: 30_001 }])
})
