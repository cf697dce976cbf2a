import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HttpExchange } from '#base/http-server.ts'
import { inProcess } from './in-process-exchange.ts'
import { type ExchangeWatcher, TrackedExchange } from './tracked-exchange.ts'

const connection = { remoteAddress: '', localAddress: '', clientCertificate: undefined, memo: undefined }

type Wishes = Partial<Pick<ExchangeWatcher, 'wantsBody' | 'wantsChunks' | 'wantsPlainAnswer'>>

/** Plays one exchange, and tells what the client got and what the watcher saw. */
async function play(act: (exchange: TrackedExchange) => void | Promise<void>, wishes: Wishes = {}) {
  const seen: unknown[] = []
  const watcher: ExchangeWatcher = {
    wantsBody: false,
    wantsChunks: false,
    wantsPlainAnswer: false,
    ...wishes,
    onBody: (body) => void seen.push(['body', body.toString()]),
    onAnswer(status, headers, body) {
      headers['x-seen'] = 'yes'
      seen.push(['answer', status, body])
    },
    onChunk: (chunk) => void seen.push(['chunk', String(chunk)]),
    onEnd: (status, sizeBytes) => void seen.push(['end', status, sizeBytes]),
  }
  const send = inProcess((exchange: HttpExchange) => void act(new TrackedExchange(exchange, watcher)), connection)
  const response = await send({ method: 'POST', target: '/x', headers: { 'accept-encoding': 'gzip' }, body: 'sent' })
  return { response, seen }
}

test('a whole answer is seen, may get headers, and is over at once', async () => {
  const { response, seen } = await play((exchange) => {
    exchange.respond(200, {}, 'hello')
    exchange.leave()
  })
  assert.deepEqual(seen, [
    ['answer', 200, 'hello'],
    ['end', 200, 5],
  ])
  assert.equal(response.headers['x-seen'], 'yes')
})

test('a streamed answer is over when it ends, not when the handler leaves', async () => {
  const { seen } = await play((exchange) => {
    const stream = exchange.stream(200, {})
    stream.write('abc')
    exchange.leave()
    assert.equal(exchange.isClosed, false)
    stream.write('de')
    stream.end()
    stream.end()
  })
  assert.deepEqual(seen, [
    ['answer', 200, undefined],
    ['end', 200, 5],
  ])
})

test('pieces and bodies are shown to those who want them', async () => {
  const { seen } = await play(
    async (exchange) => {
      await exchange.readBody(100)
      const stream = exchange.stream(200, {})
      stream.write('abc')
      stream.end()
    },
    { wantsBody: true, wantsChunks: true },
  )
  assert.deepEqual(seen, [
    ['body', 'sent'],
    ['answer', 200, undefined],
    ['chunk', 'abc'],
    ['end', 200, 3],
  ])
})

test('whoever wants to read the answer keeps it from being compressed', async () => {
  const encodings: unknown[] = []
  for (const wantsPlainAnswer of [false, true]) {
    await play(
      (exchange) => {
        encodings.push(exchange.headers['accept-encoding'])
        exchange.respond(204, {})
      },
      { wantsPlainAnswer },
    )
  }
  assert.deepEqual(encodings, ['gzip', undefined])
})

test('a request that nobody answered ends without a status', async () => {
  const seen: unknown[] = []
  const watcher = { onEnd: (status: number) => void seen.push(status) } as unknown as ExchangeWatcher
  const exchange = new TrackedExchange({ method: 'GET' } as HttpExchange, watcher)
  exchange.leave()
  exchange.leave()
  assert.deepEqual(seen, [0])
})
