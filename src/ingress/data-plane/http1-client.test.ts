import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import type { ByteStream } from '#base/byte-streams.ts'
import type { ClientExchange } from '#ingress/data-plane/exchange.ts'
import { Http1Client } from '#ingress/data-plane/http1-client.ts'
import { refuse } from '#ingress/data-plane/refuse.ts'

/** A connection whose other side reads one answer each time it is told to. */
function unreadConnection() {
  const unread: (() => void)[] = []
  const stream = new Duplex({
    ...{ writableHighWaterMark: 1, read() {} },
    write: (_chunk, _encoding, done) => void unread.push(done),
  })
  return { stream: stream as unknown as ByteStream, readOne: () => unread.shift()?.() }
}

const entrance = { listener: 'http', scheme: 'http', remoteAddress: '', port: 80, serverName: '' } as const
const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

function clientOf(stream: ByteStream, onExchange: (exchange: ClientExchange) => void) {
  const [times, errors] = [{ nowMs: 0 }, [] as unknown[]]
  const client = new Http1Client(stream, {
    ...{ entrance, onExchange, now: () => times.nowMs, onHttp2() {} },
    onError: (error) => errors.push(error),
  })
  return { client, times, errors }
}

test('a client that does not read its answers gets no more of them, and is cut off in the end', async () => {
  const { stream, readOne } = unreadConnection()
  const asked: string[] = []
  const { client } = clientOf(stream, (exchange) => {
    asked.push(exchange.request.target)
    refuse(exchange, 404, 'nobody')
  })
  const paused = once(stream, 'pause')
  stream.push(Array.from({ length: 1000 }, (_, index) => request(`/${index}`)).join(''))
  await paused
  assert.deepEqual(asked, ['/0'])
  // The head and the body of an answer are one piece.
  const drained = once(stream, 'drain')
  readOne()
  await drained
  assert.deepEqual(asked, ['/0', '/1'])
  assert.equal(stream.isPaused(), true)

  client.checkDeadline(59_000)
  assert.equal(stream.destroyed, false)
  client.checkDeadline(61_000)
  assert.equal(stream.destroyed, true)
})

test('what goes wrong with a request ends its connection, and nothing else', async () => {
  const { stream } = unreadConnection()
  const { errors } = clientOf(stream, () => {
    throw new Error('a mistake of ours')
  })
  stream.push(request('/'))
  await once(stream, 'close')
  assert.deepEqual(errors.map(String), ['Error: a mistake of ours'])
})
