import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { nodeUpgradeClient } from '#base/upgrade-client.ts'

test('what is read is asked for again where the other server has closed a connection that was kept; nothing else is', async () => {
  const seen = new Set<Socket>()
  let closed = 0
  const server = createServer(({ socket }, response) => {
    // Every connection serves one request, and says nothing of it.
    if (!seen.has(socket)) {
      seen.add(socket)
      response.end('here')
      return
    }
    closed++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  using client = nodeUpgradeClient()
  const ask = async (method: string) => {
    let text = ''
    for await (const piece of (await client.send({ url, method, headers: {} })).body) text += Buffer.from(piece).toString()
    return text
  }
  try {
    // A connection is kept some time after its answer has ended: not every request finds one.
    for (let tries = 0; closed === 0 && tries < 1000; tries++) assert.equal(await ask('GET'), 'here')
    assert.ok(closed > 0)
    const refused = async () => {
      await ask('GET')
      const before = closed
      const error = await ask('POST').then(
        () => undefined,
        (reason: NodeJS.ErrnoException) => reason.code,
      )
      if (error !== undefined) assert.deepEqual([error, closed], ['ECONNRESET', before + 1])
      return error !== undefined
    }
    let wasRefused = false
    for (let tries = 0; !wasRefused && tries < 1000; tries++) wasRefused = await refused()
    assert.ok(wasRefused, 'sent a second time')
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('a server that switches protocols without being asked is refused, and its connection ended', async () => {
  let isEnded: Promise<unknown> | undefined
  const server = createServer(({ socket }) => {
    isEnded = once(socket, 'close')
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  using client = nodeUpgradeClient()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  await assert.rejects(client.send({ url, method: 'GET', headers: {} }), /backend tried to switch protocol "other" when "" was requested/)
  await isEnded
  server.close()
})
