import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { Transport, TransportResponse } from '#client/transport.ts'
import { patientTransport } from './patient-transport.ts'

function answer(status: number, headers: Readonly<Record<string, string>> = {}): TransportResponse {
  return {
    status,
    header: (name) => headers[name],
    text: async () => '',
    async *chunks() {},
  }
}

type Trial = { answers: TransportResponse[]; said: string[]; sentMs: number[]; clock: VirtualClock; transport: Transport }

function trial(answers: TransportResponse[], level = 0): Trial {
  const clock = new VirtualClock()
  const said: string[] = []
  const sentMs: number[] = []
  const transport = patientTransport({
    clock,
    server: 'https://host',
    say: (at, place, text) => {
      if (level >= at) said.push(`${place}] ${text}`)
    },
    transport: {
      async send() {
        sentMs.push(clock.now())
        return answers.length > 1 ? (answers.shift() as TransportResponse) : (answers[0] as TransportResponse)
      },
    },
  })
  return { answers, said, sentMs, clock, transport }
}

const request = { method: 'GET', target: '/api', headers: {} } as const

test('a server that is too busy is asked again when it says so', async () => {
  const { transport, clock, sentMs, said } = trial(
    [answer(429, { 'retry-after': '2' }), answer(503, { 'retry-after': '1' }), answer(200)],
    4,
  )
  const startMs = clock.now()
  const sent = transport.send(request)
  await clock.advance({ seconds: 10 })
  assert.equal((await sent).status, 200)
  assert.deepEqual(
    sentMs.map((ms) => ms - startMs),
    [0, 2_000, 3_000],
  )
  assert.deepEqual(said, [
    'with_retry.go:234] "Got a Retry-After response" delay="2s" attempt=1 url="https://host/api"',
    'with_retry.go:234] "Got a Retry-After response" delay="1s" attempt=2 url="https://host/api"',
  ])
})

test('after ten more attempts the refusal is the answer', async () => {
  const { transport, clock, sentMs } = trial([answer(429, { 'retry-after': '1' })])
  const sent = transport.send(request)
  await clock.advance({ seconds: 60 })
  assert.equal((await sent).status, 429)
  assert.equal(sentMs.length, 11)
})

test('a failure without a time, and a refusal of other kinds, are answers', async () => {
  for (const refusal of [answer(429), answer(500), answer(404, { 'retry-after': '1' }), answer(503, { 'retry-after': 'Mon, 16 Nov' })]) {
    const { transport, sentMs } = trial([refusal])
    assert.equal(await transport.send(request), refusal)
    assert.equal(sentMs.length, 1)
  }
})

test('more than 300 requests at once go out at 50 a second, and a wait of more than a second is told once', async () => {
  const { transport, clock, sentMs, said } = trial([answer(200)])
  const all = Promise.all(Array.from({ length: 500 }, () => transport.send(request)))
  assert.ok(sentMs.length <= 300)
  await clock.advance({ seconds: 2 })
  assert.ok(sentMs.length <= 401, `${sentMs.length} in the first two seconds`)
  await clock.advance({ seconds: 3 })
  await all
  assert.equal(sentMs.length, 500)
  assert.equal(said.length, 1)
  assert.match(
    said[0] ?? '',
    /^request\.go:683\] "Waited before sending request" delay="1\.\d+s" reason="client-side throttling, not priority and fairness" verb="GET" URL="https:\/\/host\/api"$/,
  )
})
