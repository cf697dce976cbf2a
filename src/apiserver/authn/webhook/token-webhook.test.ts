import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cachedTokenAuthenticator } from '#apiserver/authn/cached-tokens.ts'
import { reviewWebhook } from '#apiserver/authn/webhook/review-webhook.ts'
import { tokenWebhookAuthenticator } from '#apiserver/authn/webhook/token-webhook.ts'
import { readWebhookKubeconfig } from '#apiserver/authn/webhook/webhook-kubeconfig.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { seededRandom, systemRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const audiences = ['https://kubernetes.default.svc']

type Review = { apiVersion: string; kind: string; spec: { token: string; audiences?: string[] } }
type Answer = { status?: number; headers?: Record<string, string>; body: unknown }

/** A webhook on loopback that answers as it is told. */
async function webhook(t: TestContext, answer: (review: Review, request: IncomingMessage) => Answer) {
  const reviews: Review[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const review = JSON.parse(text) as Review
    reviews.push(review)
    const { status = 200, headers = {}, body } = answer(review, request)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/review`
  const http = nodeHttpClient()
  t.after(() => {
    http[Symbol.dispose]()
    server.closeAllConnections()
    server.close()
  })
  const clock = new VirtualClock()
  const send = reviewWebhook({
    target: { url, headers: { authorization: 'Bearer us' } },
    http,
    clock,
    random: seededRandom(2),
    timeoutMs: 30_000,
  })
  return { reviews, clock, send, authenticator: tokenWebhookAuthenticator(send, audiences) }
}

const reviewed = (status: unknown) => ({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status })
const user = { username: 'jane', uid: 'u', groups: ['devs'], extra: { scope: ['a'] } }

test('the service is asked, and believed', async (t) => {
  const { authenticator, reviews } = await webhook(t, (_, request) => {
    assert.equal(request.headers.authorization, 'Bearer us')
    return { body: reviewed({ authenticated: true, user }) }
  })
  assert.deepEqual(await authenticator.authenticateToken('abc', audiences), {
    user: { name: 'jane', uid: 'u', groups: ['devs'], extra: { scope: ['a'] } },
    audiences,
  })
  assert.deepEqual(reviews[0]?.spec, { token: 'abc', audiences })
})

const outcomes: [string, unknown, RegExp | undefined][] = [
  ['does not know the token', reviewed({ authenticated: false }), undefined],
  ['says why not', reviewed({ authenticated: false, error: 'expired' }), /^Unauthenticated: expired$/],
  ['means another audience', reviewed({ authenticated: true, user, audiences: ['vault'] }), undefined],
  ['says a text instead of yes', reviewed({ authenticated: 'true', user }), undefined],
  ['answers with something else', { kind: 'Status', apiVersion: 'v1' }, /answered with Status of v1 instead of TokenReview/],
]
for (const [what, body, message] of outcomes) {
  test(`a service that ${what} lets nobody in`, async (t) => {
    const { authenticator } = await webhook(t, () => ({ body }))
    if (message === undefined) assert.equal(await authenticator.authenticateToken('abc', audiences), undefined)
    else await assert.rejects(async () => authenticator.authenticateToken('abc', audiences), message)
  })
}

test('trouble that passes is waited out, other trouble is not', async (t) => {
  let left = 2
  const flaky = await webhook(t, () => (left-- > 0 ? { status: 500, body: {} } : { body: reviewed({ authenticated: true, user }) }))
  const pending = Promise.resolve(flaky.authenticator.authenticateToken('abc', audiences))
  let isDone = false
  void pending.finally(() => {
    isDone = true
  })
  // Beside the limit for all attempts there is a timer only between two of them: requests take the time of the machine.
  while (!isDone) await flaky.clock.advance(flaky.clock.pending > 1 ? 100 : 0)
  assert.equal((await pending)?.user.name, 'jane')
  assert.equal(flaky.reviews.length, 3)
  const broken = await webhook(t, () => ({ status: 403, body: {} }))
  await assert.rejects(async () => broken.authenticator.authenticateToken('abc', audiences), /answered 403/)
  assert.equal(broken.reviews.length, 1)
})

test('a service that is silent is given up on in time', async (t) => {
  const http = {
    request: ({ signal }: { signal?: AbortSignal }) =>
      new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    [Symbol.dispose]() {},
  }
  const clock = new VirtualClock()
  const send = reviewWebhook({ target: { url: 'http://x', headers: {} }, http, clock, random: systemRandom, timeoutMs: 5000 })
  const pending = send({})
  pending.catch(() => {})
  await clock.advance(5000)
  await assert.rejects(pending, /did not answer within 5000 ms/)
  t.after(() => assert.equal(clock.pending, 0))
})

test('answers are remembered for a while, and those who ask together wait for one', async (t) => {
  const { authenticator, reviews, clock } = await webhook(t, ({ spec }) => ({
    body: reviewed({ authenticated: spec.token === 'abc', user }),
  }))
  const cached = cachedTokenAuthenticator(authenticator, { clock, random: systemRandom, acceptedTtlMs: 120_000, unknownTtlMs: 120_000 })
  await Promise.all(Array.from({ length: 5 }, async () => cached.authenticateToken('abc', audiences)))
  assert.equal(reviews.length, 1)
  assert.ok(!(cached.authenticateToken('abc', audiences) instanceof Promise))
  await cached.authenticateToken('nope', audiences)
  assert.equal(cached.authenticateToken('nope', audiences), undefined)
  await cached.authenticateToken('abc', ['other'])
  assert.equal(reviews.length, 3)
  await clock.advance(120_000)
  await cached.authenticateToken('abc', audiences)
  assert.equal(reviews.length, 4)
})

test('errors are not remembered', async (t) => {
  let isDown = true
  const { authenticator, clock } = await webhook(t, () =>
    isDown ? { status: 404, body: {} } : { body: reviewed({ authenticated: true, user }) },
  )
  const cached = cachedTokenAuthenticator(authenticator, { clock, random: systemRandom, acceptedTtlMs: 1000, unknownTtlMs: 1000 })
  await assert.rejects(async () => cached.authenticateToken('abc', audiences))
  isDown = false
  assert.equal((await cached.authenticateToken('abc', audiences))?.user.name, 'jane')
})

test('a kubeconfig says where the service is', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'webhook-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'kubeconfig')
  writeFileSync(join(directory, 'ca.pem'), 'CA')
  writeFileSync(
    path,
    `clusters:
- {name: c, cluster: {server: 'https://authn.example.com/x', certificate-authority: ca.pem, tls-server-name: sni}}
users:
- {name: u, user: {client-certificate-data: ${Buffer.from('CERT').toString('base64')}, client-key-data: ${Buffer.from('KEY').toString('base64')}, token: t}}
contexts:
- {name: x, context: {cluster: c, user: u}}
current-context: x
`,
  )
  assert.deepEqual(await readWebhookKubeconfig(nodeFiles, path), {
    url: 'https://authn.example.com/x',
    connection: { ca: 'CA', cert: 'CERT', key: 'KEY', serverName: 'sni' },
    headers: { authorization: 'Bearer t' },
  })
  writeFileSync(path, 'clusters:\n- {name: c, cluster: {server: "https://a"}}\nusers: []\n')
  assert.deepEqual(await readWebhookKubeconfig(nodeFiles, path), { url: 'https://a', connection: {}, headers: {} })
  writeFileSync(path, 'clusters: []\n')
  await assert.rejects(readWebhookKubeconfig(nodeFiles, path), /there is no cluster with a server to ask/)
})
