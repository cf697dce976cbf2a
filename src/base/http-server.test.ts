import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { type HttpExchange, listenHttp } from '#base/http-server.ts'

test('a connection from an address that is not accepted is cut before it is answered', async () => {
  let isOpen = true
  const listener = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    accepts: (address) => address === '127.0.0.1' && isOpen,
    onExchange: (exchange) => exchange.respond(200, { connection: 'close' }, 'in'),
  })
  try {
    const ask = async () => (await fetch(`http://127.0.0.1:${listener.port}/`)).text()
    assert.equal(await ask(), 'in')
    while (listener.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    isOpen = false
    await assert.rejects(ask())
    assert.equal(listener.connections, 0)
  } finally {
    await listener.close()
  }
})

test('an address has so many connections at once, and may have others when some are gone', async () => {
  const listener = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    maxConnectionsPerAddress: 2,
    onExchange: (exchange) => exchange.respond(200, {}, 'in'),
  })
  const open = () => connect(listener.port, '127.0.0.1').on('error', () => {})
  const answered = (socket: Socket) =>
    new Promise<boolean>((resolve) => {
      socket.once('data', () => resolve(true)).once('close', () => resolve(false))
      socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    })
  try {
    const [first, second] = [open(), open()]
    assert.deepEqual([await answered(first), await answered(second)], [true, true])
    assert.equal(await answered(open()), false)
    assert.equal(listener.connections, 2)
    first.destroy()
    while (listener.connections === 2) await new Promise((resolve) => setImmediate(resolve))
    const third = open()
    assert.equal(await answered(third), true)
    for (const socket of [second, third]) socket.destroy()
  } finally {
    await listener.close()
  }
})

test('so many connections are open in all, and of an address as many as is said of it', async () => {
  const open = async (limits: Pick<Parameters<typeof listenHttp>[0], 'maxConnections' | 'maxConnectionsPerAddress'>) => {
    const onExchange = (exchange: HttpExchange) => exchange.respond(200, {}, 'in')
    const listener = await listenHttp({ host: '127.0.0.1', port: 0, onExchange, ...limits })
    const sockets = Array.from({ length: 5 }, () => connect(listener.port, '127.0.0.1').on('error', () => {}))
    const answers = sockets.map(
      (socket) =>
        new Promise<boolean>((resolve) => {
          socket.once('data', () => resolve(true)).once('close', () => resolve(false))
          socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
        }),
    )
    const answered = (await Promise.all(answers)).filter(Boolean).length
    await listener.close()
    return answered
  }
  assert.equal(await open({ maxConnections: 3 }), 3)
  assert.equal(await open({ maxConnectionsPerAddress: (address) => (address === '127.0.0.1' ? 4 : 1) }), 4)
})

test('of the parsers of many connections at once few are kept', async () => {
  const { parsers } = process.getBuiltinModule('_http_common') as unknown as { parsers: { list: unknown[] } }
  const listener = await listenHttp({ host: '127.0.0.1', port: 0, onExchange: (exchange) => exchange.respond(200, {}, 'in') })
  // What was kept before the first server of ours stays.
  const most = Math.max(50, parsers.list.length)
  try {
    const sockets = Array.from({ length: 100 }, () => connect(listener.port, '127.0.0.1').on('error', () => {}))
    await Promise.all(
      sockets.map(
        (socket) =>
          new Promise((resolve) => {
            socket.once('data', resolve)
            socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
          }),
      ),
    )
    assert.equal(listener.connections, sockets.length)
    for (const socket of sockets) socket.destroy()
    while (listener.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.ok(parsers.list.length <= most, `${parsers.list.length} are kept`)
  } finally {
    await listener.close()
  }
})
