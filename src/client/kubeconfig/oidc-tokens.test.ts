import assert from 'node:assert/strict'
import test from 'node:test'
import type { HttpClientRequest } from '#base/http-client.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { type OidcConfig, OidcTokens } from './oidc-tokens.ts'

const tokenUntil = (seconds: number) => `h.${Buffer.from(JSON.stringify({ exp: seconds })).toString('base64url')}.s`

function provider() {
  const clock = new VirtualClock(1_000_000)
  const requests: HttpClientRequest[] = []
  const kept: OidcConfig[] = []
  const answers: Record<string, unknown> = {
    'https://idp/.well-known/openid-configuration': { token_endpoint: 'https://idp/token' },
    'https://idp/token': { id_token: tokenUntil(5000), refresh_token: 'next' },
  }
  const seams = {
    clock,
    http: () => ({
      async request(request: HttpClientRequest) {
        requests.push(request)
        const text = JSON.stringify(answers[request.url])
        return { status: 200, headers: {}, body: (async function* () {})(), text: async () => text }
      },
      [Symbol.dispose]() {},
    }),
    keep: async (config: OidcConfig) => void kept.push(config),
  }
  return { clock, requests, kept, seams }
}

const config = { 'idp-issuer-url': 'https://idp', 'client-id': 'kube', 'client-secret': 's', 'refresh-token': 'first' }

test('a token that is good is used as it is', async () => {
  const { seams, requests } = provider()
  const token = tokenUntil(2000)
  assert.equal(await new OidcTokens({ ...config, 'id-token': token }, seams).get(), token)
  assert.equal(requests.length, 0)
})

test('one that has expired is renewed once, and the new ones are kept', async () => {
  const { seams, requests, kept } = provider()
  const tokens = new OidcTokens({ ...config, 'id-token': tokenUntil(1005) }, seams)
  assert.deepEqual(await Promise.all([tokens.get(), tokens.get()]), [tokenUntil(5000), tokenUntil(5000)])
  assert.equal(requests.length, 2)
  assert.equal(requests[1]?.body, 'grant_type=refresh_token&refresh_token=first')
  assert.equal(requests[1]?.headers?.['authorization'], `Basic ${Buffer.from('kube:s').toString('base64')}`)
  assert.equal(kept[0]?.['refresh-token'], 'next')
  assert.equal(await tokens.get(), tokenUntil(5000))
})

test('without anything to renew it with, that is said', async () => {
  const { seams } = provider()
  const { 'refresh-token': _refreshToken, ...rest } = config
  await assert.rejects(new OidcTokens(rest, seams).get(), /cannot refresh without refresh-token/)
  assert.throws(() => new OidcTokens({ 'client-id': 'x' }, seams), /Must provide idp-issuer-url/)
})
