import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listenHttp } from '#base/http-server.ts'

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
    isOpen = false
    await assert.rejects(ask())
    assert.equal(listener.connections, 0)
  } finally {
    await listener.close()
  }
})
