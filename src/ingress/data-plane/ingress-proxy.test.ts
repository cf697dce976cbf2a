import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import * as http2 from 'node:http2'
import { createServer as createSecureServer } from 'node:https'
import { connect, createServer as createTcpServer } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { WebSocket, WebSocketServer } from 'ws'
import { defined } from '#base/defined.ts'
import { certificateFor, ProxyUnderTest } from '#ingress/testing/proxy-under-test.ts'

type Answer = { status: number; headers: IncomingMessage['headers']; body: string }

function ask(
  port: number,
  host: string,
  { path = '/', method = 'GET', headers = {}, body = '' as string | Buffer, agent = undefined as Agent | undefined } = {},
) {
  return new Promise<Answer>((resolve, reject) => {
    const sent = request(
      { port, host: '127.0.0.1', path, method, headers: { host, ...headers }, ...defined({ agent }) },
      async (answer) => {
        const chunks: Buffer[] = []
        try {
          for await (const chunk of answer) chunks.push(chunk as Buffer)
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks).toString() })
        } catch (error) {
          reject(error)
        }
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

test('a request reaches the backend with who sent it, and what a client says of that is not believed', async () => {
  await using under = await ProxyUnderTest.start()
  const port = await under.serve((got, answer) => {
    answer.setHeader('x-served-by', 'a')
    answer.end(JSON.stringify({ url: got.url, headers: got.headers }))
  })
  under.backend('a', [port])
  under.route('shop.example', 'a')
  const { status, headers, body } = await ask(under.httpPort, 'shop.example:8080', {
    path: '/x/../y?z',
    headers: {
      'x-forwarded-for': '9.9.9.9',
      'x-real-ip': '9.9.9.9',
      forwarded: 'for=9.9.9.9',
      'x-other': 'kept',
      'keep-alive': 'timeout=1',
    },
  })
  const got = JSON.parse(body)
  assert.equal(status, 200)
  assert.equal(headers['x-served-by'], 'a')
  assert.equal(got.url, '/y?z')
  assert.deepEqual(got.headers, {
    ...{ host: 'shop.example:8080', 'x-other': 'kept', 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http' },
    ...{ 'x-forwarded-host': 'shop.example:8080', 'x-forwarded-port': '80', 'x-real-ip': '127.0.0.1' },
  })
})

test('bodies of known and unknown length go both ways, large ones too', async () => {
  await using under = await ProxyUnderTest.start()
  const port = await under.serve((got, answer) => void got.pipe(answer))
  under.backend('a', [port])
  under.route('a', 'a')
  const large = Buffer.alloc(5_000_000, 'abcdefg')
  for (const headers of [{ 'content-length': String(large.length) }, { 'transfer-encoding': 'chunked' }]) {
    const { body } = await ask(under.httpPort, 'a', { method: 'POST', headers, body: large })
    assert.equal(body.length, large.length)
    assert.ok(large.equals(Buffer.from(body)))
  }
})

test('a backend that sends faster than a client reads is held back', async () => {
  await using under = await ProxyUnderTest.start()
  let written = 0
  const port = await under.serve((_got, answer) => {
    const chunk = Buffer.alloc(65_536)
    const more = () => {
      while (written < 200_000_000) {
        written += chunk.length
        if (!answer.write(chunk)) return void answer.once('drain', more)
      }
      answer.end()
    }
    more()
  })
  under.backend('a', [port])
  under.route('a', 'a')
  const answer = await new Promise<IncomingMessage>((resolve) =>
    request({ port: under.httpPort, host: '127.0.0.1', headers: { host: 'a' } }, resolve).end(),
  )
  // Nobody reads: what is written settles at what buffers hold.
  answer.pause()
  let before = -1
  while (before !== written) {
    before = written
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(written < 100_000_000, `${written} bytes were taken`)
  answer.destroy()
})

test('connections to backends and from clients are used again', async () => {
  await using under = await ProxyUnderTest.start()
  const seen = new Set<number | undefined>()
  const port = await under.serve((got, answer) => {
    seen.add(got.socket.remotePort)
    answer.end('ok')
  })
  under.backend('a', [port])
  under.route('a', 'a')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let round = 0; round < 5; round++) await ask(under.httpPort, 'a', { agent })
  assert.equal(seen.size, 1)
  agent.destroy()
})

test('requests that come together are answered in order', async () => {
  await using under = await ProxyUnderTest.start()
  const port = await under.serve((got, answer) => answer.end(got.url))
  under.backend('a', [port])
  under.route('a', 'a')
  const one = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
  const text = await under.raw(
    `${one('/1')}${one('/2')}GET /3 HTTP/1.1\r\nHost: nowhere\r\n\r\nGET /4 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
  )
  assert.deepEqual(
    [...text.matchAll(/\r\n\r\n(\/\d|default)/g)].map(([, path]) => path),
    ['/1', '/2', 'default', '/4'],
  )
})

test('old clients get an answer that ends with the connection', async () => {
  await using under = await ProxyUnderTest.start()
  const port = await under.serve((_got, answer) => {
    answer.write('in ')
    answer.end('pieces')
  })
  under.backend('a', [port])
  under.route('a', 'a')
  const text = await under.raw('GET / HTTP/1.0\r\nHost: a\r\n\r\n')
  assert.match(text, /\r\nConnection: close\r\n\r\nin pieces$/)
  assert.doesNotMatch(text, /chunked/)
})

test('a client that waits to be asked for its body is asked', async () => {
  await using under = await ProxyUnderTest.start()
  const port = await under.serve((got, answer) => void got.pipe(answer))
  under.backend('a', [port])
  under.route('a', 'a')
  const sent = request({
    port: under.httpPort,
    host: '127.0.0.1',
    method: 'PUT',
    headers: { host: 'a', expect: '100-continue', 'content-length': '4' },
  })
  sent.flushHeaders()
  await once(sent, 'continue')
  sent.end('body')
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  assert.equal((await answer.toArray()).join(''), 'body')
})

test('what two servers could read in two ways is refused before a backend sees it', async () => {
  await using under = await ProxyUnderTest.start()
  let requests = 0
  const port = await under.serve((_got, answer) => {
    requests++
    answer.end()
  })
  under.backend('a', [port])
  under.route('a', 'a')
  for (const head of ['Content-Length: 5\r\nTransfer-Encoding: chunked', 'Content-Length: 1\r\nContent-Length: 2', 'X : y', 'X: a\nY: b'])
    assert.match(
      await under.raw(`POST / HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n`),
      /^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n/,
    )
  assert.match(await under.raw(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /)
  assert.equal(requests, 0)
})

test('an endpoint that cannot be reached is left for another one', async () => {
  await using under = await ProxyUnderTest.start()
  const port = await under.serve((_got, answer) => answer.end('alive'))
  // Not one that was free a moment ago: others may have it by now.
  const closed = 1
  under.backend('a', [closed, port])
  under.route('a', 'a')
  for (let round = 0; round < 4; round++) assert.equal((await ask(under.httpPort, 'a', { method: 'POST', body: 'x' })).body, 'alive')
  under.backend('a', [closed])
  assert.equal((await ask(under.httpPort, 'a')).status, 502)
})

test('a connection that the backend closes while a request is on its way is not the end of the request', async () => {
  await using under = await ProxyUnderTest.start()
  let connections = 0
  // Answers once on each connection, and closes it when it is asked again.
  const server = createTcpServer((socket) => {
    connections++
    let asked = 0
    socket.on('error', () => {})
    socket.on('data', () => (asked++ === 0 ? socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok') : socket.destroy()))
  })
  under.backend('a', [await under.add(server as never)])
  under.route('a', 'a')
  for (let round = 0; round < 4; round++) assert.equal((await ask(under.httpPort, 'a')).body, 'ok')
  assert.equal(connections, 4)
})

test('nobody there, nobody meant, nobody valid, too slow: each has its status', async () => {
  await using under = await ProxyUnderTest.start()
  const slow = await under.serve(() => {})
  under.backend('empty', [])
  under.backend('slow', [slow])
  under.route('empty', 'empty')
  under.route('invalid', '')
  under.route('slow', 'slow', { timeouts: { requestMs: 50 } })
  const status = async (host: string) => (await ask(under.httpPort, host)).status
  assert.deepEqual([await status('empty'), await status('nobody'), await status('invalid'), await status('slow')], [503, 404, 500, 504])
})

test('a client that goes away takes its request along', async () => {
  await using under = await ProxyUnderTest.start()
  const gone = Promise.withResolvers<void>()
  const came = Promise.withResolvers<void>()
  const port = await under.serve((got) => {
    came.resolve()
    got.socket.on('close', () => gone.resolve())
  })
  under.backend('a', [port])
  under.route('a', 'a')
  const sent = request({ port: under.httpPort, host: '127.0.0.1', headers: { host: 'a' } })
  sent.on('error', () => {})
  sent.end()
  await came.promise
  sent.destroy()
  await gone.promise
})

test('an endpoint that leaves finishes what it has, and gets nothing more', async () => {
  await using under = await ProxyUnderTest.start()
  const held = Promise.withResolvers<() => void>()
  const first = await under.serve((_got, answer) => held.resolve(() => answer.end('first')))
  const second = await under.serve((_got, answer) => answer.end('second'))
  under.backend('a', [first])
  under.route('a', 'a')
  const waiting = ask(under.httpPort, 'a')
  const finish = await held.promise
  under.backend('a', [second])
  assert.equal((await ask(under.httpPort, 'a')).body, 'second')
  finish()
  assert.equal((await waiting).body, 'first')
})

test('filters change, redirect and copy requests', async () => {
  await using under = await ProxyUnderTest.start()
  const copied = Promise.withResolvers<string>()
  const port = await under.serve((got, answer) => {
    answer.setHeader('x-secret', '1')
    answer.end(`${got.headers.host} ${got.url} ${got.headers['x-new']}`)
  })
  const mirror = await under.serve(async (got, answer) => {
    copied.resolve(`${got.url} ${(await got.toArray()).join('')}`)
    answer.end()
  })
  under.backend('a', [port])
  under.backend('m', [mirror])
  under.route('a', 'a', {
    path: { type: 'Prefix', value: '/old' },
    requestHeaders: [{ set: [['X-New', 'yes']] }],
    responseHeaders: [{ remove: ['x-secret'] }],
    rewrite: { hostname: 'inside.example', path: { type: 'ReplacePrefixMatch', value: '/new' } },
    mirrors: [{ backend: 'm', perMillion: 1_000_000 }],
  })
  const { body, headers } = await ask(under.httpPort, 'a', { path: '/old/x?q', method: 'POST', body: 'copy me' })
  assert.equal(body, 'inside.example /new/x?q yes')
  assert.equal(headers['x-secret'], undefined)
  assert.equal(await copied.promise, '/new/x?q copy me')
  under.route('r', '', { redirect: { scheme: 'https', status: 301 }, backends: [] })
  const redirected = await ask(under.httpPort, 'r', { path: '/p?q' })
  assert.deepEqual([redirected.status, redirected.headers.location], [301, 'https://r/p?q'])
})

test('WebSockets go through', async () => {
  await using under = await ProxyUnderTest.start()
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  server.on('connection', (socket) => socket.on('message', (text) => socket.send(`echo ${text}`)))
  under.backend('a', [(server.address() as { port: number }).port])
  under.route('a', 'a')
  const socket = new WebSocket(`ws://127.0.0.1:${under.httpPort}/chat`, { headers: { host: 'a' } })
  await once(socket, 'open')
  socket.send('hello')
  const [message] = await once(socket, 'message')
  assert.equal(String(message), 'echo hello')
  socket.close()
  await once(socket, 'close')
  server.close()
})

test('certificates are chosen by name, and a new one takes the place of the old without ending a connection', async () => {
  await using under = await ProxyUnderTest.start()
  const port = await under.serve((got, answer) => answer.end(String(got.headers['x-forwarded-proto'])))
  under.backend('a', [port])
  under.route('a.example', 'a')
  under.update({
    pairs: [
      ['one', certificateFor('a.example', 'first')],
      ['two', certificateFor('*.b.example')],
    ],
    certificates: [
      { listener: 'https', host: 'a.example', secret: 'one' },
      { listener: 'https', host: '*.b.example', secret: 'two' },
    ],
  })
  const open = async (servername: string) => {
    const socket = connectTls({
      port: under.httpsPort,
      host: '127.0.0.1',
      servername,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    })
    await once(socket, 'secureConnect')
    const { subjectaltname = '' } = socket.getPeerCertificate()
    return { socket, names: subjectaltname }
  }
  const { socket, names } = await open('a.example')
  assert.equal(names, 'DNS:a.example, DNS:first')
  under.update({ pairs: [['one', certificateFor('a.example', 'second')]] })
  socket.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
  let answer = ''
  while (!answer.endsWith('https')) answer += String((await once(socket, 'data'))[0])
  assert.match(answer, /^HTTP\/1\.1 200 OK/)
  socket.destroy()
  for (const [name, expected] of [
    ['a.example', 'DNS:a.example, DNS:second'],
    ['x.b.example', 'DNS:*.b.example'],
    ['x.y.b.example', 'DNS:fallback.example'],
    ['', 'DNS:fallback.example'],
  ] as const) {
    const opened = await open(name)
    assert.equal(opened.names, expected, name)
    opened.socket.destroy()
  }
  under.update({
    pairs: [['three', { cert: 'no', key: 'pem' }]],
    certificates: [{ listener: 'https', host: 'c.example', secret: 'three' }],
  })
  const refused = await open('c.example')
  assert.equal(refused.names, 'DNS:fallback.example')
  refused.socket.destroy()
  assert.match(under.complaints.join(), /the certificate of secret three cannot be used/)
})

test('gRPC goes through: HTTP/2 on both sides, with and without TLS, trailers at the end', async () => {
  await using under = await ProxyUnderTest.start()
  const backend = http2.createServer()
  backend.on('stream', (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () =>
      stream.sendTrailers({ 'grpc-status': '0', 'x-te': String(headers['te']), 'x-host': String(headers[':authority']) }),
    )
    stream.pipe(stream)
  })
  under.backend('g', [await under.add(backend as never)], 'h2c')
  under.route('g.example', 'g')
  for (const session of [
    http2.connect(`http://127.0.0.1:${under.httpPort}`),
    http2.connect(`https://127.0.0.1:${under.httpsPort}`, { rejectUnauthorized: false, servername: 'g.example' }),
  ]) {
    const call = session.request({
      ...{ ':method': 'POST', ':path': '/pkg.Service/Method', ':authority': 'g.example', te: 'trailers' },
      'content-type': 'application/grpc',
    })
    let trailers: http2.IncomingHttpHeaders = {}
    call.on('trailers', (headers) => {
      trailers = headers
    })
    // The stream goes both ways: what was sent comes back before the request ends.
    call.write('ping')
    const [echo] = await once(call, 'data')
    assert.equal(String(echo), 'ping')
    call.end()
    await once(call, 'end')
    assert.deepEqual([trailers['grpc-status'], trailers['x-te'], trailers['x-host']], ['0', 'trailers', 'g.example'])
    const refused = session.request({
      ':method': 'POST',
      ':path': '/x',
      ':authority': 'nobody',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    const [headers] = (await once(refused.end(), 'response')) as [http2.IncomingHttpHeaders]
    assert.deepEqual([headers[':status'], headers['grpc-status']], [200, '12'])
    session.close()
  }
})

test('clients of HTTP/2 reach backends of HTTP/1.1, and the other way round', async () => {
  await using under = await ProxyUnderTest.start()
  const old = await under.serve(async (got, answer) => answer.end(`${got.headers['cookie']} ${(await got.toArray()).join('')}`))
  const modern = http2.createServer((got, answer) => void got.pipe(answer))
  under.backend('old', [old])
  under.backend('modern', [await under.add(modern as never)], 'h2c')
  under.route('old', 'old')
  under.route('modern', 'modern')
  const session = http2.connect(`http://127.0.0.1:${under.httpPort}`)
  const call = session.request({ ':method': 'POST', ':authority': 'old', ':path': '/', cookie: ['a=1', 'b=2'] })
  call.end('body')
  assert.equal((await call.toArray()).join(''), 'a=1; b=2 body')
  session.close()
  assert.equal((await ask(under.httpPort, 'modern', { method: 'POST', body: 'hello' })).body, 'hello')
})

test('backends are spoken to by TLS where they want it', async () => {
  await using under = await ProxyUnderTest.start()
  const server = createSecureServer(certificateFor('backend'), (got, answer) => answer.end(`secure ${got.headers.host}`))
  under.backend('a', [await under.add(server)], 'https')
  under.route('a.example', 'a')
  assert.equal((await ask(under.httpPort, 'a.example')).body, 'secure a.example')
})

test('at the end what is under way is finished, and nothing more is taken', async () => {
  await using under = await ProxyUnderTest.start()
  const held = Promise.withResolvers<() => void>()
  const port = await under.serve((_got, answer) => held.resolve(() => answer.end('done')))
  under.backend('a', [port])
  under.route('a', 'a')
  const waiting = ask(under.httpPort, 'a')
  const finish = await held.promise
  const drained = under.proxy.drain(new Promise(() => {}))
  await assert.rejects(ask(under.httpPort, 'a'))
  finish()
  assert.equal((await waiting).body, 'done')
  await drained
})

test('heads that come byte by byte are read, on both sides', async () => {
  await using under = await ProxyUnderTest.start()
  const inBytes = async (socket: { write(text: string): unknown }, text: string) => {
    for (const byte of text) {
      socket.write(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const server = createTcpServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {})
    socket.once(
      'data',
      () => void inBytes(socket, 'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
    )
  })
  under.backend('a', [await under.add(server as never)])
  under.route('a', 'a')
  const client = connect({ port: under.httpPort, host: '127.0.0.1', noDelay: true })
  void inBytes(client, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  const text = (await client.toArray()).join('')
  assert.match(text, /^HTTP\/1\.1 103 \r\nLink: x\r\n\r\nHTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nok$/)
})
