import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MalformedMessage, readRequestHead, readResponseHead } from '#wire/http1/message-head.ts'

const request = (...lines: string[]) => readRequestHead(`${lines.join('\r\n')}\r\n\r\n`)

test('a request is its line, its host and the headers that are not for one connection', () => {
  const head = request(
    'GET /a?b=c HTTP/1.1',
    'Host: shop.example:8080',
    'Accept:  */* ',
    'Connection: keep-alive, X-Hop',
    'X-Hop: 1',
    'Keep-Alive: timeout=5',
    'TE: trailers',
  )
  assert.deepEqual(head, {
    ...{ method: 'GET', target: '/a?b=c', host: 'shop.example:8080', minorVersion: 1, headers: ['Accept', '*/*'], keepsAlive: true },
    ...{ body: 0, upgrade: undefined, expectsContinue: false, takesTrailers: true },
  })
})

test('bodies have a length, or come in chunks', () => {
  assert.equal(request('POST / HTTP/1.1', 'Host: a', 'Content-Length: 12').body, 12)
  assert.equal(request('POST / HTTP/1.1', 'Host: a', 'Content-Length: 12', 'content-length: 12').body, 12)
  assert.equal(request('POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding: Chunked').body, 'chunked')
})

test('a protocol that is to follow is known only where the connection says so', () => {
  assert.equal(request('GET / HTTP/1.1', 'Host: a', 'Connection: Upgrade', 'Upgrade: websocket').upgrade, 'websocket')
  assert.equal(request('GET / HTTP/1.1', 'Host: a', 'Upgrade: websocket').upgrade, undefined)
})

test('old clients keep a connection only where they ask for it', () => {
  assert.equal(request('GET / HTTP/1.0').keepsAlive, false)
  assert.equal(request('GET / HTTP/1.0', 'Connection: keep-alive').keepsAlive, true)
  assert.equal(request('GET / HTTP/1.1', 'Host: a', 'Connection: close').keepsAlive, false)
})

test('the absolute form names the host', () => {
  const { target, host } = request('GET http://other.example/x HTTP/1.1', 'Host: shop.example')
  assert.deepEqual({ target, host }, { target: '/x', host: 'other.example' })
})

const refused: [name: string, text: string, status: number][] = [
  ['both a length and chunks', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n', 400],
  ['a length with a sign', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n', 400],
  ['a list of lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n', 400],
  ['another encoding', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 501],
  ['an encoding twice', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n', 400],
  ['chunks of an old client', 'POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
  ['a space before the colon', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n', 400],
  ['a line that continues another', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n', 400],
  ['a line that ends in LF alone', 'GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n', 400],
  ['a CR within a value', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r2\r\n\r\n', 400],
  ['a NUL within a value', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\0\r\n\r\n', 400],
  ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  ['a host with a path', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', 400],
  ['a target that is no path', 'GET a HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['a tunnel', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['two spaces', 'GET  / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['another version', 'GET / HTTP/3.0\r\nHost: a\r\n\r\n', 505],
  ['an unknown expectation', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n', 417],
]
for (const [name, text, status] of refused)
  test(`a request with ${name} is refused with ${status}`, () => {
    assert.throws(
      () => readRequestHead(text),
      (error) => error instanceof MalformedMessage && error.status === status,
    )
  })

test('an answer has a body unless its status or the method says otherwise', () => {
  const body = (text: string, method = 'GET') => readResponseHead(text, method).body
  assert.equal(body('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'), 5)
  assert.equal(body('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'), 'chunked')
  assert.equal(body('HTTP/1.1 200\r\n\r\n'), 'untilClose')
  assert.equal(body('HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n'), 'none')
  const head = readResponseHead('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: timeout=7\r\n\r\n', 'HEAD')
  assert.deepEqual([head.body, head.headers, head.idleSeconds], ['none', ['Content-Length', '5'], 7])
})

test('a head of many headers is read in linear time, valid or not', () => {
  const many = 'X: y\r\n'.repeat(100_000)
  assert.equal(readRequestHead(`GET / HTTP/1.1\r\nHost: a\r\n${many}\r\n`).headers.length, 200_000)
  assert.throws(() => readRequestHead(`GET / HTTP/1.1\r\nHost: a\r\n${many}X\0\r\n\r\n`), MalformedMessage)
})
