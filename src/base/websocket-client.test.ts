import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { openWebSocket } from '#base/websocket-client.ts'

test('words that come together with the answer of the server are heard, and its farewell too', async () => {
  const server = createServer((socket) => {
    socket.once('data', (bytes) => {
      const key = /^sec-websocket-key: (.*)\r$/im.exec(bytes.toString())?.[1] ?? ''
      const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
      const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`
      // All in one piece: the answer, a message, and the end with code 1000.
      socket.end(Buffer.concat([Buffer.from(head), Buffer.from([0x82, 3]), Buffer.from('bye'), Buffer.from([0x88, 2, 0x03, 0xe8])]))
    })
    socket.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const client = await openWebSocket(`http://127.0.0.1:${port}/`, [], {}, {})
  // As late as a busy program may be.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  const words: string[] = []
  client.onMessage((data) => words.push(Buffer.from(data).toString()))
  const code = await new Promise((resolve) => client.onClose(resolve))
  server.close()
  assert.deepEqual([words, code], [['bye'], 1000])
})
