import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { test } from 'node:test'
import { DialTimeout, nodeDialer } from '#base/dialer.ts'

const listening = (server: ReturnType<typeof createTcpServer>) =>
  new Promise<number>((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))

test('one answer is read, as much of it as is wanted', async () => {
  const server = createServer((request, response) =>
    response.writeHead(302, { location: '/x' }).end(`${request.headers['host']} ${'y'.repeat(100)}`),
  )
  const port = await listening(server)
  const headers = { Host: 'a.b' }
  const answer = await nodeDialer.get({ url: `http://127.0.0.1:${port}/`, headers, timeoutMs: 60_000, bodyLimitBytes: 8 })
  assert.deepEqual(answer, { status: 302, location: '/x', body: 'a.b yyyy' })
  server.close()
})

test('who does not answer in time is given up', async () => {
  const server = createTcpServer((socket) => socket.on('error', () => {}))
  const port = await listening(server)
  const asked = nodeDialer.get({ url: `http://127.0.0.1:${port}/`, headers: {}, timeoutMs: 50, bodyLimitBytes: 8 })
  await assert.rejects(asked, DialTimeout)
  await nodeDialer.connect({ host: '127.0.0.1', port, timeoutMs: 60_000 })
  server.close()
})

test('a port nobody listens on refuses', async () => {
  // Not one that was free a moment ago: others may have it by now.
  await assert.rejects(nodeDialer.connect({ host: '127.0.0.1', port: 1, timeoutMs: 60_000 }), { code: 'ECONNREFUSED' })
})

test('a server that says five times that the answer will come is waited for, and one that says it for ever is not', async () => {
  const interim = 'HTTP/1.1 102 Processing\r\n\r\n'
  let sent = 0
  const server = createTcpServer((socket) => {
    const more = () => {
      if (socket.destroyed) return
      sent++
      socket.write(interim, () => setImmediate(more))
    }
    socket.on('error', () => {})
    socket.once('data', (request) => {
      if (String(request).startsWith('GET /endless')) more()
      else socket.end(`${interim.repeat(5)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`)
    })
  })
  const port = await listening(server)
  const get = (path: string) =>
    nodeDialer.get({ url: `http://127.0.0.1:${port}/${path}`, headers: {}, timeoutMs: 600_000, bodyLimitBytes: 100 })
  assert.deepEqual(await get(''), { status: 200, body: 'ok' })
  await assert.rejects(get('endless'), /too many 1xx informational responses/)
  assert.ok(sent > 5)
  await new Promise((resolve) => server.close(resolve))
})
