import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { endWhenIdle } from '#base/end-when-idle.ts'

test('a connection on which nothing is said ends, and its other side with it', async () => {
  const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = await accepted
  endWhenIdle(socket, 20)
  endWhenIdle(new PassThrough(), 20)
  client.resume()
  await once(client, 'close')
  assert.ok(socket.destroyed)
  server.close()
})
