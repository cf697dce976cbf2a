/** Calls to webhooks over real connections: certificates, names, answers that never end. */
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { WebhookCallFailed, WebhookCalls } from '#apiserver/webhooks/webhook-calls.ts'
import { systemClock } from '#base/clock.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { testAuthority } from './certificates.ts'

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

async function webhook(t: TestContext, dnsNames: string[], answer: Answer) {
  const authority = testAuthority('webhook')
  const { certificate, key } = authority.issue('webhook', {
    extendedKeyUsages: ['serverAuth'],
    subjectAltNames: { dnsNames, ipAddresses: ['127.0.0.1'] },
  })
  let connections = 0
  const server = createServer({ cert: certificate, key }, async (request, response) => {
    let body = ''
    for await (const piece of request) body += String(piece)
    answer(request, response, body)
  })
  // Nobody but the test ends connections, however long it takes.
  server.keepAliveTimeout = 0
  server.on('secureConnection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const clock = new VirtualClock()
  const calls = new WebhookCalls({ clock, makeClient: nodeHttpClient, hostOf: async () => `127.0.0.1:${port}` })
  t.after(() => {
    calls[Symbol.dispose]()
    server.closeAllConnections()
    server.close()
  })
  const caBundle = Buffer.from(authority.pem).toString('base64')
  return { calls, clock, caBundle, server, url: `https://127.0.0.1:${port}/hook`, connections: () => connections }
}

const call = { body: '{"a":1}', timeoutMs: 10_000, answerLimitBytes: 1000, query: 'timeout=10s' }
const service = { namespace: 'ns', name: 'hook', path: 'mutate' }

test('a service is called by its own name, whatever the address of its pod', async (t) => {
  const hook = await webhook(t, ['hook.ns.svc'], (request, response, body) =>
    response.end(JSON.stringify([request.method, request.url, request.headers.host, request.headers['content-type'], body])),
  )
  const answer = JSON.parse(await hook.calls.post({ service, caBundle: hook.caBundle }, call))
  assert.deepEqual(answer, ['POST', '/mutate?timeout=10s', 'hook.ns.svc:443', 'application/json', '{"a":1}'])
})

test('connections are kept for the next call, and one closed meanwhile costs nothing', async (t) => {
  const sockets: Socket[] = []
  const hook = await webhook(t, [], (request, response) => {
    sockets.push(request.socket)
    response.end('{}')
  })
  for (let i = 0; i < 3; i++) await hook.calls.post({ url: hook.url, caBundle: hook.caBundle }, call)
  assert.equal(hook.connections(), 1)
  sockets[0]?.destroy()
  await hook.calls.post({ url: hook.url, caBundle: hook.caBundle }, call)
  assert.equal(hook.connections(), 2)
})

test('a certificate of nobody known, or of another name, is refused', async (t) => {
  const hook = await webhook(t, ['other.ns.svc'], (_, response) => response.end('{}'))
  await assert.rejects(hook.calls.post({ service, caBundle: hook.caBundle }, call), (error: Error) => {
    assert.ok(error instanceof WebhookCallFailed)
    const why = 'tls: failed to verify certificate: x509: certificate is valid for other.ns.svc, not hook.ns.svc'
    assert.equal(error.message, `Post "https://hook.ns.svc:443/mutate?timeout=10s": ${why}`)
    return true
  })
  await assert.rejects(hook.calls.post({ url: hook.url }, call), /x509: certificate signed by unknown authority$/)
  const caBundle = Buffer.from('nonsense').toString('base64')
  await assert.rejects(hook.calls.post({ url: hook.url, caBundle }, call), /unable to parse bytes as PEM block$/)
})

test('an answer without end is not read to its end', async (t) => {
  let sent = 0
  const hook = await webhook(t, [], (_, response) => {
    const more = () => {
      sent += 65_536
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20)));
    }
    response.on('drain', more)
    more()
  })
  const endless = hook.calls.post({ url: hook.url, caBundle: hook.caBundle }, { ...call, answerLimitBytes: 1 << 20 })
  await assert.rejects(endless, /the answer is larger than 1048576 bytes/)
  assert.ok(sent < 64 << 20)
})

test('a webhook that says nothing is given up on in time, whether it is silent before or in the middle of the answer', async (t) => {
  for (const begins of [false, true]) {
    const reached = Promise.withResolvers<void>()
    const hook = await webhook(t, [], (_, response) => {
      if (begins) response.write('{')
      reached.resolve()
    })
    const pending = hook.calls.post({ url: hook.url, caBundle: hook.caBundle }, call)
    pending.catch(() => {})
    await reached.promise
    await hook.clock.advance(10_000)
    await assert.rejects(pending, new RegExp(`^WebhookCallFailed: Post "${hook.url}\\?timeout=10s": context deadline exceeded$`))
    assert.equal(hook.clock.pending, 0)
  }
})

test('nobody there, or a refusal, is told in the words of upstream', async (t) => {
  const hook = await webhook(t, [], (request, response) => {
    if (request.url?.startsWith('/status')) response.writeHead(403).end(JSON.stringify({ kind: 'Status', message: 'go away' }))
    else response.writeHead(request.url?.startsWith('/missing') ? 404 : 500).end('oops')
  })
  const at = (path: string) => hook.calls.post({ url: hook.url.replace('/hook', path), caBundle: hook.caBundle }, call)
  await assert.rejects(at('/status'), (error: WebhookCallFailed) => error.message === 'go away' && error.code === 403)
  await assert.rejects(at('/missing'), /the server could not find the requested resource$/)
  await assert.rejects(at('/'), /an error on the server \("oops"\) has prevented the request from succeeding$/)
  hook.server.closeAllConnections()
  await new Promise((resolve) => hook.server.close(resolve))
  await assert.rejects(at('/'), /^WebhookCallFailed: Post ".*": dial tcp 127.0.0.1:\d+: connect: connection refused$/)
})

test('a webhook that comes to nothing leaves no timer behind', async () => {
  const calls = new WebhookCalls({
    clock: systemClock,
    makeClient: nodeHttpClient,
    hostOf: () => Promise.reject(new Error('service "hook" not found')),
  })
  await assert.rejects(
    calls.post({ service }, call),
    /^WebhookCallFailed: Post "https:\/\/hook.ns.svc:443\/mutate\?timeout=10s": service "hook" not found$/,
  )
})
