import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestContext } from '#apiserver/http/context.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { type Backend, inProcessBackend } from '#apiserver/node-connections/backend.ts'
import { forward } from '#apiserver/node-connections/forward.ts'
import { rewrittenPage, rewrittenPieces } from '#apiserver/node-connections/rewrite-links.ts'
import { gunzipPieces, gzipPieces } from '#base/compression.ts'
import { BodyTooLargeError } from '#base/http-exchanges.ts'
import type { HttpExchange } from '#base/http-server.ts'

const connection = { remoteAddress: '192.0.2.9', localAddress: '', clientCertificate: undefined, memo: undefined }
const rewriting = { prefix: '/p', hosts: ['b'] }

const through = (backend: Backend) =>
  inProcess((exchange) => {
    const context = new RequestContext(exchange, {} as never, new URLSearchParams(), { name: '', groups: [], extra: {} })
    void forward(context, { backend, path: '/', query: '', prefix: '/p' })
  }, connection)

/** Until it was asked to stop. */
async function* endlessly(text: string, stop: { isAsked: boolean }): AsyncGenerator<Uint8Array> {
  while (!stop.isAsked) {
    yield Buffer.from(text)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

for (const coding of ['', 'gzip']) {
  test(`a page that never ends is shown as it comes, its links changed${coding && `: ${coding}`}`, { timeout: 60_000 }, async () => {
    const stop = { isAsked: false }
    const page = endlessly('<p><a href="/x">x</a></p>'.repeat(1000), stop)
    const send = through({
      host: 'b',
      scheme: 'http',
      send: async () => ({
        status: 200,
        headers: {},
        rawHeaders: ['content-type', 'text/html', 'content-length', '5', ...(coding ? ['content-encoding', coding] : [])],
        body: coding ? gzipPieces(page) : page,
      }),
    })
    const answer = await send({ method: 'GET', target: '/' })
    assert.equal(answer.headers['content-length'], undefined)
    let text = ''
    for await (const piece of coding ? gunzipPieces(answer.chunks()) : answer.chunks()) {
      text += Buffer.from(piece).toString()
      if (text.length > 1_000_000) break
    }
    stop.isAsked = true
    assert.ok(text.startsWith('<p><a href="/p/x">x</a></p>'.repeat(10_000)))
  })
}

test('a page is the same wherever it was cut', async () => {
  const text = '<!doctype html><IMG alt="a > b" SRC=\'/i\'/>1 < 2<a\nhref=/x>é</a><form action="/f"><'
  const page = Buffer.from(text)
  const whole = rewrittenPage(page.toString('latin1'), rewriting)
  for (let cut = 0; cut <= page.length; cut++) {
    const pieces: Uint8Array[] = []
    const parts = async function* () {
      yield page.subarray(0, cut)
      yield page.subarray(cut)
    }
    for await (const piece of rewrittenPieces(parts(), rewriting)) pieces.push(piece)
    assert.equal(Buffer.concat(pieces).toString('latin1'), whole, `cut at ${cut}`)
  }
})

test('a body for a server in this process comes piece by piece, and is read no further than it wants', { timeout: 60_000 }, async () => {
  const stop = { isAsked: false }
  const refused = Promise.withResolvers<unknown>()
  const backend = inProcessBackend((exchange: HttpExchange) => {
    exchange.readBody(100_000).catch((error: unknown) => {
      refused.resolve(error)
      exchange.respond(413, {})
    })
  }, 'n')
  const { status } = await backend.send({ method: 'POST', target: '/', headers: {}, body: endlessly('x'.repeat(10_000), stop) })
  assert.deepEqual([status, (await refused.promise) instanceof BodyTooLargeError], [413, true])
})
