import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import type { HttpConnection, HttpResponseStream } from '#base/http-server.ts'

const connection: HttpConnection = { remoteAddress: '', localAddress: '', clientCertificate: undefined, memo: undefined }

test('who writes an answer hears that its reader is behind, and when it has caught up', async () => {
  const writing = Promise.withResolvers<HttpResponseStream>()
  const send = inProcess((exchange) => writing.resolve(exchange.stream(200, {})), connection)
  const [{ chunks }, stream] = await Promise.all([send({ method: 'GET', target: '/' }), writing.promise])
  const piece = Buffer.alloc(64 * 1024)
  let written = 1
  while (stream.write(piece)) written++
  assert.equal(written, 5)
  let drains = 0
  stream.onDrain(() => {
    drains++
    stream.end()
  })
  let pieces = 0
  for await (const chunk of chunks()) {
    assert.equal(chunk.length, piece.length)
    pieces++
  }
  assert.deepEqual([pieces, drains], [5, 1])
})
