import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { StatusError } from '#api/meta/status-error.ts'
import { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { DynamicView } from '#apiserver/cluster-view/dynamic-view.ts'
import { dialTrouble } from '#apiserver/node-connections/dial-trouble.ts'
import { type NodeConnectionSettings, NodeConnections } from '#apiserver/node-connections/node-connections.ts'
import { answeredHeaders, passedHeaders } from '#apiserver/node-connections/proxied-headers.ts'
import { isGlobalUnicast } from '#apiserver/node-connections/proxyable-address.ts'
import { type LinkRewriting, rewrittenLink, rewrittenPage } from '#apiserver/node-connections/rewrite-links.ts'
import { splitProxyPath } from '#apiserver/subresources/proxy.ts'
import type { HttpClientOptions } from '#base/http-client.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { ConnectTimeout } from '#base/upgrade-client.ts'

const addresses: [string, boolean][] = [
  ['10.0.0.1', true],
  ['192.0.2.7', true],
  ['::ffff:10.0.0.1', true],
  ['fd00::1', true],
  ['2001:db8::1', true],
  ['127.0.0.1', false],
  ['127.9.9.9', false],
  ['::ffff:127.0.0.1', false],
  ['0.0.0.0', false],
  ['255.255.255.255', false],
  ['169.254.169.254', false],
  ['224.0.0.1', false],
  ['::1', false],
  ['0:0:0:0:0:0:0:1', false],
  ['::', false],
  ['fe80::1', false],
  ['ff02::1', false],
  ['', false],
  ['localhost', false],
  ['300.1.1.1', false],
]
for (const [address, isProxyable] of addresses) {
  test(`requests ${isProxyable ? 'may' : 'may not'} be passed on to "${address}"`, () =>
    assert.equal(isGlobalUnicast(address), isProxyable))
}

const rewriting: LinkRewriting = { prefix: '/api/v1/namespaces/a/pods/b/proxy', hosts: ['10.0.0.1:80', 'localhost:8001'] }
const links: [string, string][] = [
  ['/x?y=1#z', '/api/v1/namespaces/a/pods/b/proxy/x?y=1#z'],
  ['http://10.0.0.1:80/x', '/api/v1/namespaces/a/pods/b/proxy/x'],
  ['//localhost:8001/x/', '/api/v1/namespaces/a/pods/b/proxy/x/'],
  ['/api/v1/namespaces/a/pods/b/proxy/x', '/api/v1/namespaces/a/pods/b/proxy/x'],
  ['x/y', 'x/y'],
  ['#top', '#top'],
  ['', ''],
  ['http://elsewhere/x', 'http://elsewhere/x'],
  ['mailto:/x', 'mailto:/x'],
]
for (const [link, expected] of links) {
  test(`the link "${link}" of a proxied page becomes "${expected}"`, () => assert.equal(rewrittenLink(link, rewriting), expected))
}

test('only links of a page are changed, whatever else stands there', () => {
  const same = '<p href="/x">/x</p><!-- a href="/x" --><a name="/x">href="/x"</a><a href=relative>'
  assert.equal(rewrittenPage(same, rewriting), same)
  assert.equal(rewrittenPage("<IMG alt='a > b' SRC='/i'/>", rewriting), "<IMG alt='a > b' SRC='/api/v1/namespaces/a/pods/b/proxy/i'/>")
  assert.equal(rewrittenPage('<a href="/$&">', rewriting), '<a href="/api/v1/namespaces/a/pods/b/proxy/$&">')
})

test('a page of nothing but beginnings of tags takes no longer than another', () => {
  for (const part of ['<a ', '<a b="', "<a b='", '<a b=c ', '<a\n'.repeat(10)]) {
    const page = part.repeat(100_000)
    assert.equal(rewrittenPage(page, rewriting).length, page.length)
  }
})

const paths: [string, string, string][] = [
  ['/api/v1/namespaces/a/pods/b/proxy', '/api/v1/namespaces/a/pods/b/proxy', ''],
  ['/api/v1/namespaces/a/pods/b/proxy/', '/api/v1/namespaces/a/pods/b/proxy', '/'],
  ['/api/v1/namespaces/a/pods/b/proxy/x//y/', '/api/v1/namespaces/a/pods/b/proxy', '/x/y/'],
  ['/api/v1/namespaces/a/pods/b/proxy/proxy/z', '/api/v1/namespaces/a/pods/b/proxy', '/proxy/z'],
  ['/api/v1/nodes/n/proxy/../../%2e%2e/x', '/api/v1/nodes/n/proxy', '/x'],
  ['/api/v1/nodes/n/proxy/a%2Fb/./c', '/api/v1/nodes/n/proxy', '/a%2Fb/c'],
]
for (const [path, prefix, rest] of paths) {
  test(`behind ${path} lies "${rest}"`, () => assert.deepEqual(splitProxyPath(path), { prefix, path: rest }))
}

const exchange = (...rawHeaders: string[]): HttpExchange => {
  const headers: Record<string, string> = {}
  for (let index = 0; index < rawHeaders.length; index += 2) headers[(rawHeaders[index] ?? '').toLowerCase()] = rawHeaders[index + 1] ?? ''
  return { headers, rawHeaders, connection: { remoteAddress: '192.0.2.9' } } as unknown as HttpExchange
}

test('headers go on, but not those of the hop, nor who the client is', () => {
  const sent = exchange(
    ...['Host', 'api', 'X-Own', '1', 'X-Own', '2', 'Authorization', 'Bearer x', 'Impersonate-User', 'u', 'X-Remote-User', 'r'],
    ...['Connection', 'keep-alive, X-Hop', 'X-Hop', 'h', 'Keep-Alive', '5', 'Transfer-Encoding', 'chunked', 'Cookie', 'c'],
  )
  assert.deepEqual(passedHeaders(sent), { host: 'api', 'x-own': ['1', '2'], cookie: 'c', 'x-forwarded-for': '192.0.2.9' })
  assert.deepEqual(passedHeaders(exchange('X-Forwarded-For', '10.1.1.1')), { 'x-forwarded-for': '10.1.1.1, 192.0.2.9' })
})

test('an upgrade is asked for again, without the token that came with it', () => {
  const protocols = 'base64url.bearer.authorization.k8s.io.dG9rZW4, v5.channel.k8s.io'
  assert.deepEqual(passedHeaders(exchange('Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Protocol', protocols)), {
    'x-forwarded-for': '192.0.2.9',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-protocol': 'v5.channel.k8s.io',
  })
})

test('headers of an answer come back, repeated ones repeated', () => {
  assert.deepEqual(answeredHeaders(['Set-Cookie', 'a', 'Set-Cookie', 'b', 'Connection', 'close', 'X', 'y'], 'close'), {
    'set-cookie': ['a', 'b'],
    x: 'y',
  })
})

const troubles: [unknown, string][] = [
  [withCode('ECONNREFUSED'), 'dial tcp 10.0.0.1:10250: connect: connection refused'],
  [withCode('EHOSTUNREACH'), 'dial tcp 10.0.0.1:10250: connect: no route to host'],
  [new AggregateError([withCode('ECONNREFUSED')]), 'dial tcp 10.0.0.1:10250: connect: connection refused'],
  [new ConnectTimeout('x'), 'dial tcp 10.0.0.1:10250: i/o timeout'],
  [withCode('ENOTFOUND'), 'dial tcp: lookup 10.0.0.1: no such host'],
  [withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), 'tls: failed to verify certificate: x509: certificate signed by unknown authority'],
  [
    Object.assign(withCode('ERR_TLS_CERT_ALTNAME_INVALID'), { cert: { subjectaltname: 'DNS:node, IP Address:10.0.0.7' } }),
    'tls: failed to verify certificate: x509: certificate is valid for 10.0.0.7, not 10.0.0.1',
  ],
  [
    Object.assign(withCode('ERR_TLS_CERT_ALTNAME_INVALID'), { cert: { subjectaltname: 'DNS:node' } }),
    "tls: failed to verify certificate: x509: cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs",
  ],
  [new Error('odd'), 'odd'],
  ['odder', 'odder'],
]
for (const [index, [error, text]] of troubles.entries()) {
  // Not named by its text: one that says "failed to verify" looks like a failure to those who search a report for one.
  test(`trouble ${index} is told as upstream tells it`, () => assert.equal(dialTrouble(error, '10.0.0.1:10250', 'https'), text))
}

function withCode(code: string): Error {
  return Object.assign(new Error(code), { code })
}

function connections(node: Partial<V1Node>, settings: NodeConnectionSettings = {}) {
  const made: HttpClientOptions[] = []
  const nodes = new NodeConnections({
    cluster: () =>
      new ClusterView({
        get: () => undefined,
        getFresh: async (_group, _resource, _namespace, name) => (name === 'n1' ? node : undefined),
      } as Partial<DynamicView> as DynamicView),
    identity: () => ({ certificatePem: 'cert', privateKeyPem: 'key' }),
    makeClient(options) {
      made.push(options)
      return { send: () => Promise.reject(new Error('nobody is there')), [Symbol.dispose]() {} }
    },
    settings,
  })
  return { nodes, made }
}

const status = {
  addresses: [
    { type: 'Hostname', address: 'one' },
    { type: 'InternalIP', address: 'fd00::7' },
  ],
  daemonEndpoints: { kubeletEndpoint: { Port: 12345 } },
}

test('a node is reached at the address that is liked best, and at the port it tells', async () => {
  const { nodes, made } = connections({ status })
  const connection = await nodes.connectionTo('n1')
  assert.deepEqual([connection.backend.host, connection.takesWebSockets], ['[fd00::7]:12345', false])
  assert.deepEqual(made, [{ cert: 'cert', key: 'key', insecureSkipVerify: true }])
  const { nodes: others } = connections({ status }, { kubeletPreferredAddressTypes: ['Hostname'] })
  assert.equal((await others.connectionTo('n1')).backend.host, 'one:12345')
})

test('agents are asked for a certificate of the authority that was named, and for none where the client does without', async () => {
  const { nodes, made } = connections({ status }, { kubeletCertificateAuthority: 'ca' })
  await nodes.connectionTo('n1')
  assert.deepEqual(made, [
    { cert: 'cert', key: 'key', insecureSkipVerify: true },
    { cert: 'cert', key: 'key', ca: 'ca' },
  ])
})

test('nodes that are not there, and nodes without an address, are refused', async () => {
  const refusal = (code: number, message: string) => (error: unknown) =>
    error instanceof StatusError && error.code === code && error.message === message
  await assert.rejects(connections({}).nodes.connectionTo('n2'), refusal(404, 'nodes "n2" not found'))
  const { nodes } = connections({ status: { addresses: [{ type: 'Odd', address: 'x' }] } })
  await assert.rejects(nodes.connectionTo('n1'), refusal(500, 'no preferred addresses found; known addresses: [{Odd x}]'))
})
