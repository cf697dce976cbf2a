import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HttpExchange } from '#base/http-server.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { Authentication } from '#kubelet/server/authentication.ts'

test('a token is shown to the API server once, be it known or refused, until its answer is old', async () => {
  const clock = new VirtualClock()
  const shown: string[] = []
  let isKnown = false
  const authentication = new Authentication({
    ...{ clock, clientAuthorities: () => [], reviewsTokens: true, tokenLastsMs: 120_000, allowsAnonymous: true },
    client: {
      async create(_: unknown, { spec }: { spec: { token: string } }) {
        shown.push(spec.token)
        return { status: { authenticated: isKnown || spec.token === 'good', user: { username: spec.token } } } as never
      },
    } as never,
  })
  const nameOf = async (token: string) => {
    const exchange = { connection: { clientCertificate: undefined }, headers: { authorization: `Bearer ${token}` } }
    return (await authentication.callerOf(exchange as unknown as HttpExchange))?.name
  }
  for (let index = 0; index < 5; index++) {
    assert.equal(await nameOf('bad'), undefined)
    assert.equal(await nameOf('good'), 'good')
  }
  assert.deepEqual(shown, ['bad', 'good'])
  for (let index = 0; index < 5000; index++) await nameOf(`made-up-${index}`)
  shown.length = 0
  assert.equal(await nameOf('good'), 'good')
  assert.deepEqual(shown, [])
  isKnown = true
  assert.equal(await nameOf('made-up-4999'), undefined)
  await clock.advance({ seconds: 10 })
  assert.equal(await nameOf('made-up-4999'), 'made-up-4999')
})
