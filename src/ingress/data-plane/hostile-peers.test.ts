/** What clients and backends may send to hurt others. Whatever throws here where nobody catches it would end the test. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import { createServer as createSecureServer } from 'node:https'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { VirtualClock } from '#base/virtual-clock.ts'
import { certificateFor, ProxyUnderTest } from '#ingress/testing/proxy-under-test.ts'

type Answer = { status: number | undefined; headers: http2.IncomingHttpHeaders; trailers: http2.IncomingHttpHeaders; body: string }

async function askByHttp2(port: number, headers: http2.OutgoingHttpHeaders): Promise<Answer> {
  const session = http2.connect(`http://127.0.0.1:${port}`)
  try {
    const stream = session.request(headers)
    let trailers: http2.IncomingHttpHeaders = {}
    stream.on('trailers', (got) => {
      trailers = got
    })
    const [answered] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    const body = await text(stream)
    return { status: Number(answered[':status']), headers: answered, trailers, body }
  } finally {
    session.close()
  }
}

/** A backend that answers every request with these bytes. */
async function saying(under: ProxyUnderTest, answer: string): Promise<string[]> {
  const heard: string[] = []
  const server = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      heard.push(bytes.toString('latin1'))
      socket.write(answer, 'latin1')
    })
  })
  under.backend('a', [await under.add(server as never)])
  under.route('', 'a')
  return heard
}

const get = (host: string, more = '') => `GET / HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`
const statusIn = (answer: string) => answer.split(' ')[1]

test('a backend with TLS is reached though the client names an address', async () => {
  await using under = await ProxyUnderTest.start()
  const server = createSecureServer(certificateFor('a.example'), (_got, answer) => answer.end('secure'))
  under.backend('a', [await under.add(server)], 'https')
  under.route('', 'a')
  for (const host of ['127.0.0.1', '127.0.0.1:80', '[::1]', '[::1]:80']) assert.equal(statusIn(await under.raw(get(host))), '200', host)
})

test('headers that HTTP/2 does not have are left out, on both sides', async () => {
  await using under = await ProxyUnderTest.start()
  const got: http2.IncomingHttpHeaders[] = []
  const server = http2.createServer((request, answer) => {
    got.push(request.headers)
    answer.end('ok')
  })
  under.backend('two', [await under.add(server as never)], 'h2c')
  under.route('two', 'two')
  const asked = get('two', 'HTTP2-Settings: x\r\nconstructor: own\r\n__proto__: own\r\nX_Forwarded_For: 9.9.9.9\r\nx_other: y\r\n')
  assert.equal(statusIn(await under.raw(asked)), '200')
  const { 'http2-settings': settings, constructor: own, x_forwarded_for: from, x_other: other } = got[0] as Record<string, unknown>
  assert.deepEqual({ settings, own, from, other }, { settings: undefined, own: 'own', from: undefined, other: 'y' })

  const interim = 'HTTP/1.1 103 Early Hints\r\nHTTP2-Settings: x\r\nLink: </a>\r\n\r\n'
  const head = 'HTTP/1.1 200 OK\r\nHTTP2-Settings: x\r\nX-Kept: y\r\nTransfer-Encoding: chunked\r\n\r\n'
  await saying(under, `${interim}${head}2\r\nok\r\n0\r\nHTTP2-Settings: x\r\nX-Last: z\r\n\r\n`)
  const { status, headers, trailers, body } = await askByHttp2(under.httpPort, { ':path': '/' })
  assert.deepEqual([status, headers['x-kept'], trailers['x-last'], body], [200, 'y', 'z', 'ok'])
})

test('a status that HTTP does not have is the backend’s mistake', async () => {
  await using under = await ProxyUnderTest.start()
  await saying(under, 'HTTP/1.1 999 No\r\nContent-Length: 2\r\n\r\nok')
  assert.equal((await askByHttp2(under.httpPort, { ':path': '/' })).status, 502)
  assert.equal(statusIn(await under.raw(get('a'))), '502')
})

test('a backend changes to another protocol only where the client asked for it, and never to HTTP/2', async () => {
  await using under = await ProxyUnderTest.start()
  const heard = await saying(under, 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n')
  assert.equal((await askByHttp2(under.httpPort, { ':path': '/' })).status, 502)
  assert.equal(statusIn(await under.raw(get('a'))), '502')
  const upgrade = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n'
  assert.equal(statusIn(await under.raw(upgrade)), '502')
  assert.equal(heard.length, 3)
  assert.doesNotMatch(heard.join(), /upgrade|http2-settings/i)
})

test('connections past what there is room for are cut, those of one address sooner, and room that was left is given again', async () => {
  await using under = await ProxyUnderTest.start({ limits: { most: 3, mostOfOne: 2 } })
  const open = (port: number, localAddress: string) => connect({ port, host: '127.0.0.1', localAddress })
  const answer = async (socket: Socket) => {
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    return Promise.race([once(socket, 'data').then(() => 'answered'), once(socket, 'close').then(() => 'cut')])
  }
  const first = open(under.httpPort, '127.0.0.1')
  assert.equal(await answer(first), 'answered')
  const silent = connectTls({ port: under.httpsPort, host: '127.0.0.1', rejectUnauthorized: false })
  await once(silent, 'secureConnect')
  assert.equal(await answer(open(under.httpPort, '127.0.0.1')), 'cut')
  const other = open(under.httpPort, '127.0.0.2')
  assert.equal(await answer(other), 'answered')
  assert.equal(await answer(open(under.httpPort, '127.0.0.3')), 'cut')
  for (const socket of [first, silent, other]) {
    socket.destroy()
    // The proxy hears of it a little later.
    for (;;) {
      const next = open(under.httpPort, '127.0.0.1')
      const said = await answer(next)
      next.destroy()
      if (said === 'answered') break
    }
  }
})

test('a client of HTTP/2 has a limited share: of streams, of bytes nobody has read, of pings, of time without asking', async () => {
  const clock = new VirtualClock()
  await using under = await ProxyUnderTest.start({ clock })
  const open = async () => {
    const session = http2.connect(`http://127.0.0.1:${under.httpPort}`)
    session.on('error', () => {})
    const [settings] = (await once(session, 'remoteSettings')) as [http2.Settings]
    return { session, settings }
  }
  const { session: idle, settings } = await open()
  assert.deepEqual([settings.maxConcurrentStreams, settings.initialWindowSize], [128, 131_072])
  const ended = once(idle, 'close')
  await clock.advance({ seconds: 77 })
  await ended

  const { session: pinging } = await open()
  const cut = once(pinging, 'close')
  const pings = setInterval(() => pinging.destroyed || pinging.ping(() => {}), 0)
  await cut
  clearInterval(pings)
})
