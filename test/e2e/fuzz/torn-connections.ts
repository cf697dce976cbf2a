/** Connections that end in the middle: half a head, half a body, half a handshake; left open, closed on one side, or cut. */
import { connect as connectHttp2, constants } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Random } from '#base/random.ts'

type Address = { port: number; token: string }

const maps = '/api/v1/namespaces/default/configmaps'

/** Resolves when the connection is over, or has been left alone for long enough and is cut. */
export function tornConnection(random: Random, address: Address): Promise<void> {
  const kinds = [halfHead, halfBody, halfChunk, pipelined, garbage, halfHandshake, http2Garbage, http2HalfBody, http2Resets, http2Abandoned]
  return (kinds[random.int(kinds.length)] ?? garbage)(random, address)
}

const authorized = ({ token }: Address) => `Host: a\r\nAuthorization: Bearer ${token}\r\n`

function halfHead(random: Random, address: Address): Promise<void> {
  const head = `GET ${maps} HTTP/1.1\r\n${authorized(address)}Accept: application/json\r\n\r\n`
  return spoken(random, address, [head.slice(0, 1 + random.int(head.length - 1))])
}

function halfBody(random: Random, address: Address): Promise<void> {
  const head = `POST ${maps} HTTP/1.1\r\n${authorized(address)}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n`
  return spoken(random, address, [head, '{"metadata":', '{"name":"to'])
}

function halfChunk(random: Random, address: Address): Promise<void> {
  const head = `POST ${maps} HTTP/1.1\r\n${authorized(address)}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  return spoken(random, address, [head, 'ff\r\n{"a"', random.int(2) === 0 ? '' : 'zz\r\n'])
}

function pipelined(random: Random, address: Address): Promise<void> {
  const one = `GET ${maps}?watch=true HTTP/1.1\r\n${authorized(address)}\r\n`
  return spoken(random, address, [one.repeat(1 + random.int(5))])
}

function garbage(random: Random, address: Address): Promise<void> {
  const line = [
    'GET\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'GET  /\r\n\r\n',
    `GET / HTTP/1.1\r\nA${'a'.repeat(20_000)}: b\r\n\r\n`,
    '\r\n\r\n\r\n',
  ]
  const smuggled = `POST / HTTP/1.1\r\n${authorized(address)}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET`
  const bytes = Buffer.from(random.bytes(200)).toString('latin1')
  const texts = [...line, smuggled, bytes]
  return spoken(random, address, [texts[random.int(texts.length)] ?? ''])
}

/** Says these over HTTP/1.1; then closes its side, cuts, or stays silent for a moment. */
function spoken(random: Random, { port }: Address, texts: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
    const limit = setTimeout(() => socket.destroy(), 200 + random.int(200))
    socket.on('error', () => {})
    socket.on('data', () => {})
    socket.on('close', () => {
      clearTimeout(limit)
      resolve()
    })
    socket.on('secureConnect', () => {
      for (const text of texts) socket.write(text, 'latin1')
      const ending = random.int(3)
      if (ending === 0) socket.end()
      else if (ending === 1) socket.destroy()
    })
  })
}

function halfHandshake(random: Random, { port }: Address): Promise<void> {
  return new Promise((resolve) => {
    const socket = connectTcp(port, '127.0.0.1')
    const limit = setTimeout(() => socket.destroy(), 100 + random.int(200))
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(limit)
      resolve()
    })
    socket.on('connect', () => {
      socket.write(random.int(2) === 0 ? Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]) : 'GET / HTTP/1.1\r\n\r\n')
      if (random.int(2) === 0) socket.end()
    })
  })
}

function http2Garbage(random: Random, { port }: Address): Promise<void> {
  return new Promise((resolve) => {
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2'] })
    const limit = setTimeout(() => socket.destroy(), 200)
    socket.on('error', () => {})
    socket.on('data', () => {})
    socket.on('close', () => {
      clearTimeout(limit)
      resolve()
    })
    socket.on('secureConnect', () => {
      socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
      // An empty SETTINGS frame, then a frame that is none.
      socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
      socket.write(Buffer.from(random.bytes(60)))
      if (random.int(2) === 0) socket.end()
    })
  })
}

function http2HalfBody(random: Random, address: Address): Promise<void> {
  return overHttp2(random, address, (session) => {
    const stream = session.request({ ...head('POST', maps, address), 'content-type': 'application/json' })
    stream.on('error', () => {})
    stream.write('{"metadata":{')
    if (random.int(2) === 0) setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), random.int(30))
  })
}

function http2Resets(random: Random, address: Address): Promise<void> {
  return overHttp2(random, address, (session) => {
    for (let count = 0; count < 50; count++) {
      const stream = session.request(head('GET', `${maps}?watch=${random.int(2) === 0}`, address))
      stream.on('error', () => {})
      stream.close(constants.NGHTTP2_CANCEL)
    }
  })
}

/** Asks for much and reads none of it. */
function http2Abandoned(random: Random, address: Address): Promise<void> {
  return overHttp2(random, address, (session) => {
    for (let count = 0; count < 5; count++) {
      const stream = session.request(head('GET', '/openapi/v2', address))
      stream.on('error', () => {})
      stream.pause()
    }
  })
}

const head = (method: string, path: string, { token }: Address) => ({ ':method': method, ':path': path, authorization: `Bearer ${token}` })

function overHttp2(random: Random, { port }: Address, act: (session: ReturnType<typeof connectHttp2>) => void): Promise<void> {
  return new Promise((resolve) => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
    const limit = setTimeout(() => session.destroy(), 50 + random.int(200))
    session.on('error', () => {})
    session.on('close', () => {
      clearTimeout(limit)
      resolve()
    })
    session.on('connect', () => act(session))
  })
}
