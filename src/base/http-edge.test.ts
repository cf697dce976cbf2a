/** What clients send that no client should: it costs them their connection, and nobody else anything. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { type HttpExchange, type HttpListener, listenHttp } from '#base/http-server.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { selfSigned } from '#testing/self-signed.ts'

const tls = selfSigned()
const get = 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n'
const upgrade = 'GET /b HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'
const tunnel = 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'
const withoutHost = 'GET /c HTTP/1.1\r\n\r\n'
const expecting = 'GET /d HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n'

async function listening(
  isSecure: boolean,
  onExchange: (exchange: HttpExchange) => void,
): Promise<{ listener: HttpListener; records: LogRecord[] } & AsyncDisposable> {
  const records: LogRecord[] = []
  const logger = recordingLogger(records)
  const listener = await listenHttp({ host: '127.0.0.1', port: 0, logger, onExchange, ...(isSecure ? { tls } : {}) })
  return { listener, records, [Symbol.asyncDispose]: () => listener.close() }
}

function connected(isSecure: boolean, { port }: HttpListener): Socket {
  const at = { host: '127.0.0.1', port }
  const socket = isSecure ? connectTls({ ...at, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }) : connect(at)
  return socket.on('error', () => {})
}

/** All that comes until the server ends the connection. */
async function answered(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (piece: Buffer) => {
    text += piece.toString()
  })
  await once(socket, 'close')
  return text
}

const inTime = () => new Promise((resolve) => setImmediate(resolve))

for (const isSecure of [false, true]) {
  const where = isSecure ? 'over TLS' : 'without TLS'

  for (const [what, sent] of Object.entries({
    'an upgrade after a request': get + upgrade,
    'an upgrade after two requests': get + get + upgrade,
    'an upgrade after a request that Node answers': expecting + upgrade,
    'an upgrade after a request without a host': withoutHost + upgrade,
    'a tunnel after two requests': get + get + tunnel,
  })) {
    test(`${what} that has no answer yet ends the connection, and all that is under way on it: ${where}`, async () => {
      let open = 0
      await using server = await listening(isSecure, (exchange) => {
        open++
        exchange.onClose(() => open--)
      })
      const socket = connected(isSecure, server.listener)
      socket.write(sent)
      await answered(socket)
      while (open > 0) await inTime()
      assert.deepEqual(server.records, [])
    })
  }

  test(`a tunnel is refused: ${where}`, async () => {
    await using server = await listening(isSecure, (exchange) => exchange.respond(200, {}, 'in'))
    const socket = connected(isSecure, server.listener)
    socket.write(tunnel)
    assert.match(await answered(socket), /^HTTP\/1.1 405 Method Not Allowed\r\n/)
  })

  test(`a handler that fails costs its own request alone: ${where}`, async () => {
    await using server = await listening(isSecure, (exchange) => {
      if (exchange.target === '/b') exchange.takeOver?.()
      throw new Error('a bug')
    })
    const socket = connected(isSecure, server.listener)
    socket.write(get.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    assert.match(await answered(socket), /^HTTP\/1.1 500 Internal Server Error\r\n/)
    const other = connected(isSecure, server.listener)
    other.write(upgrade)
    assert.equal(await answered(other), '')
    assert.deepEqual(
      server.records.map(({ level, message, fields }) => [level, message, fields['target']]),
      ['/a', '/b'].map((target) => ['error', 'failed to begin a request', target]),
    )
  })

  test(`who sends requests without end before there are answers is not read from until there are some: ${where}`, async () => {
    const waiting: HttpExchange[] = []
    await using server = await listening(isSecure, (exchange) => void waiting.push(exchange))
    const socket = connected(isSecure, server.listener)
    const count = 50_000
    socket.write(get.repeat(count))
    socket.resume()
    for (let quietTurns = 0, seen = 0; quietTurns < 100 || seen === 0; quietTurns++) {
      if (waiting.length > seen) quietTurns = 0
      seen = waiting.length
      await inTime()
    }
    // Some 2,500 requests fit into what is read from a connection at once, and as much may be on its way to the parser.
    assert.ok(waiting.length < 10_000, `${waiting.length} requests are under way`)
    let answeredCount = 0
    while (answeredCount < count) {
      for (const exchange of waiting.splice(0)) {
        exchange.respond(200, {}, 'x')
        answeredCount++
      }
      await inTime()
    }
    socket.destroy()
  })
}

test('a tunnel is refused over HTTP/2; a handler that fails costs its own stream', async () => {
  await using server = await listening(true, (exchange) => {
    if (exchange.target === '/late') exchange.stream(200, {}).write('x')
    throw new Error('a bug')
  })
  const statusOf = async (headers: Record<string, string>) => {
    const session = connectHttp2(`https://127.0.0.1:${server.listener.port}`, { rejectUnauthorized: false })
    const stream = session.request(headers, { endStream: headers[':method'] !== 'CONNECT' })
    const closed = once(stream, 'close').catch(() => {})
    const [answer] = (await once(stream, 'response')) as [Record<string, unknown>]
    stream.resume()
    await closed
    session.destroy()
    return answer[':status']
  }
  assert.equal(await statusOf({ ':method': 'CONNECT', ':authority': 'x:1' }), 405)
  assert.equal(await statusOf({ ':path': '/early' }), 500)
  assert.equal(await statusOf({ ':path': '/late' }), 200)
  assert.deepEqual(
    server.records.map(({ fields }) => fields['target']),
    ['/early', '/late'],
  )
})

test('headers are bytes, a character each, whatever the answer is made of', async () => {
  const value = Buffer.from('猫').toString('latin1')
  await using server = await listening(false, (exchange) => {
    exchange.respond(200, { 'x-cat': value, connection: 'close' }, exchange.target === '/a' ? '猫' : Buffer.from('猫'))
  })
  for (const target of ['/a', '/b']) {
    const socket = connected(false, server.listener)
    socket.write(get.replace('/a', target))
    const text = await answered(socket)
    assert.match(text, /^x-cat: 猫\r$/m)
    assert.match(text, /\r\n\r\n猫$/)
  }
})
