import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { listenHttp } from '#base/http-server.ts'
import { acceptWebSocket } from '#base/websocket-server.ts'

const head = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
/** Empty, as clients mask them. */
const ping = Buffer.from([0x89, 0x80, 1, 2, 3, 4])
const pong = Buffer.from([0x8a, 0])

/** What comes after the answer to the upgrade: until so many bytes are there, or the server ends the connection. */
async function answerTo(frames: Buffer, enoughBytes: number): Promise<Buffer> {
  const listener = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    onExchange({ takeOver }) {
      if (takeOver !== undefined) void acceptWebSocket(takeOver(), '')
    },
  })
  const socket = connect(listener.port, '127.0.0.1').on('error', () => {})
  try {
    socket.write(head + key)
    const [first] = (await once(socket, 'data')) as [Buffer]
    assert.match(first.toString('latin1'), /^HTTP\/1.1 101 /)
    let received = first.subarray(first.indexOf('\r\n\r\n') + 4)
    socket.write(frames)
    await new Promise<void>((resolve) => {
      socket.on('data', (piece: Buffer) => {
        received = Buffer.concat([received, piece])
        if (received.length >= enoughBytes) resolve()
      })
      socket.on('close', () => resolve())
    })
    return received
  } finally {
    socket.destroy()
    await listener.close()
  }
}

test('pings are answered', async () => {
  assert.deepEqual(await answerTo(Buffer.alloc(20 * ping.length, ping), 20 * pong.length), Buffer.alloc(20 * pong.length, pong))
})

test('who sends pings without end is cut off', async () => {
  const received = await answerTo(Buffer.alloc(1000 * ping.length, ping), 1000 * pong.length)
  assert.ok(received.length < 500 * pong.length, `${received.length} bytes`)
})
