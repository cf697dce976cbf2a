import assert from 'node:assert/strict'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { nodeHttpClient } from '#base/http-client.ts'
import { tunnelTo } from '#base/proxy-tunnel.ts'
import { nodeUpgradeClient } from '#base/upgrade-client.ts'
import { openWebSocket } from '#base/websocket-client.ts'
import { isWithoutProxy } from '#base/without-proxy.ts'

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}

/** As proxies speak; `asked` is what they were told. */
const asked: string[] = []

function pass(client: Socket, host: string, port: number, hello: string | Buffer): void {
  const upstream = connect({ host, port }, () => {
    client.write(hello)
    client.pipe(upstream).pipe(client)
  })
  for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
}

const httpProxy = createServer((client) => {
  client.once('data', (bytes) => {
    const text = bytes.toString()
    const [, host = '', port = ''] = /^CONNECT ([^:]+):(\d+) /.exec(text) ?? []
    const secret = /^proxy-authorization: Basic (.*)$/im.exec(text)?.[1]
    asked.push(`http ${host} ${secret === undefined ? '' : Buffer.from(secret, 'base64').toString()}`)
    if (host === 'forbidden.example') client.end('HTTP/1.1 403 Forbidden by rule\r\n\r\n')
    else pass(client, '127.0.0.1', Number(port), 'HTTP/1.1 200 Connection established\r\n\r\n')
  })
})

const socksProxy = createServer((client) => {
  client.once('data', (greeting: Buffer) => {
    const wantsSecret = greeting.includes(2, 2)
    client.write(Buffer.from([5, wantsSecret ? 2 : 0]))
    const request = (bytes: Buffer, secret: string) => {
      const isName = bytes[3] === 3
      const host = isName ? bytes.subarray(5, 5 + (bytes[4] ?? 0)).toString() : bytes.subarray(4, 8).join('.')
      asked.push(`socks ${host} ${secret}`)
      if (host === 'forbidden.example') client.end(Buffer.from([5, 2, 0, 1, 0, 0, 0, 0, 0, 0]))
      else pass(client, '127.0.0.1', bytes.readUInt16BE(bytes.length - 2), Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]))
    }
    client.once('data', (bytes: Buffer) => {
      if (!wantsSecret) return request(bytes, '')
      const length = bytes[1] ?? 0
      const secret = `${bytes.subarray(2, 2 + length)}:${bytes.subarray(3 + length)}`
      client.write(Buffer.from([1, 0]))
      client.once('data', (next: Buffer) => request(next, secret))
    })
  })
})

const server = createHttpServer((_request, response) => response.end('hello'))
server.on('upgrade', async (request, socket, head) => {
  if (request.headers.upgrade !== 'websocket') {
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\nswitched')
    return
  }
  const { WebSocketServer } = await import('ws')
  new WebSocketServer({ noServer: true }).handleUpgrade(request, socket, head, (webSocket) => {
    webSocket.send('over the wire')
    webSocket.close()
  })
})

describe('through a proxy', () => {
  const proxies: Record<string, string> = {}
  let target = ''
  before(async () => {
    proxies['http'] = `http://me:s3%40cret@127.0.0.1:${await listening(httpProxy)}`
    proxies['socks5'] = `socks5://me:s3%40cret@127.0.0.1:${await listening(socksProxy)}`
    target = `http://cluster.example:${await listening(server)}/`
  })
  after(() => {
    for (const each of [httpProxy, socksProxy, server]) each.close()
    server.closeAllConnections()
  })

  for (const kind of ['http', 'socks5'] as const) {
    test(`${kind}: connections that change their protocol, by the name that only the proxy knows`, async () => {
      asked.length = 0
      const options = { proxyUrl: proxies[kind] as string }
      using upgrades = nodeUpgradeClient(options)
      const { upgraded } = await upgrades.send({ url: target, method: 'POST', headers: { connection: 'Upgrade', upgrade: 'test' } })
      let text = upgraded?.head.toString() ?? ''
      for await (const piece of upgraded?.socket ?? []) text += piece
      assert.equal(text, 'switched')
      const socket = await openWebSocket(target, [], {}, options)
      const message = new Promise<string>((resolve) => socket.onMessage((data) => resolve(Buffer.from(data).toString())))
      assert.equal(await message, 'over the wire')
      const told = `${kind === 'http' ? 'http' : 'socks'} cluster.example me:s3@cret`
      assert.deepEqual(asked, [told, told])
    })

    test(`${kind}: a refusal is told in the proxy's words`, async () => {
      const refused = tunnelTo(new URL(proxies[kind] as string), { host: 'forbidden.example', port: 6443 })
      await assert.rejects(refused, {
        message: kind === 'http' ? 'proxyconnect: Forbidden by rule' : 'proxyconnect: connection not allowed by ruleset',
      })
    })
  }

  test('plain requests go through SOCKS as well', async () => {
    using http = nodeHttpClient({ proxyUrl: proxies['socks5'] as string })
    const response = await http.request({ url: target })
    assert.equal(await response.text(), 'hello')
    assert.equal(asked.at(-1), 'socks cluster.example me:s3@cret')
  })
})

test('a proxy of an unknown kind is refused', async () => {
  await assert.rejects(tunnelTo(new URL('ftp://host'), { host: 'x', port: 1 }), /unknown scheme ftp/)
})

test('entries of NO_PROXY', () => {
  const entries: [entry: string, isWithout: boolean][] = [
    ['*', true],
    ['example.com', true],
    ['.example.com', true],
    ['*.example.com', true],
    ['api.example.com:6443', true],
    ['api.example.com:443', false],
    ['ample.com', false],
    ['10.0.0.0/8', false],
  ]
  for (const [entry, isWithout] of entries) assert.equal(isWithoutProxy('api.example.com', '6443', entry), isWithout, entry)
  assert.equal(isWithoutProxy('10.1.2.3', '443', '10.0.0.0/8'), true)
  assert.equal(isWithoutProxy('[fd00::1]', '443', 'fd00::/8'), true)
  assert.equal(isWithoutProxy('10.1.2.3', '443', '10.1.2.3'), true)
  assert.equal(isWithoutProxy('10.1.2.3', '443', '1.2.3'), false)
})
