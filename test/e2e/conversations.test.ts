/** Conversations with containers in every protocol, to the kubelet and through the API server, with a runtime that pretends. */
import assert from 'node:assert/strict'
import { request as secureRequest } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { WebSocket } from 'ws'
import { ConfigMap, Node } from '#api/core/v1/kinds.gen.ts'
import { systemClock } from '#base/clock.ts'
import { seededRandom } from '#base/random.ts'
import { nodeUpgradeClient } from '#base/upgrade-client.ts'
import { SpdyConnection } from '#wire/spdy/connection.ts'
import { FakeRuntimeStreams, pretendingRuntime } from '../support/fake-runtime-streams.ts'
import { installedKubectls } from '../support/kubectl.ts'
import { type NodeWithServer, startNodeWithServer } from '../support/node-with-server.ts'
import { inProcessKubectl } from './differential/in-process-kubectl.ts'

let fake: FakeRuntimeStreams
let node: NodeWithServer
let uid: string

before(async () => {
  fake = await FakeRuntimeStreams.start()
  node = await startNodeWithServer(pretendingRuntime(fake.streams, () => uid))
  const pod = await node.createPod('p', { containers: [{ name: 'c', image: 'i' }] })
  uid = pod.metadata.uid ?? ''
})

after(async () => {
  await node?.[Symbol.asyncDispose]()
  await fake?.[Symbol.asyncDispose]()
})

const key = 'dGhlIHNhbXBsZSBub25jZQ=='

/** What a client of a WebSocket conversation hears, by channel, until it is over. */
function webSocketTo(
  url: string,
  path: string,
  protocol: string,
  speak: (say: (channel: number, text: string | Uint8Array) => void) => void,
): Promise<{ protocol: string; heard: Record<number, string>; code: number }> {
  const { certificatePem: cert, privateKeyPem } = node.keys.identity('admin')
  const ca = node.keys.authority('ca').certificatePem
  const isBase64 = protocol.includes('base64')
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace('https', 'wss')}${path}`, protocol === '' ? [] : [protocol], {
      cert,
      key: privateKeyPem,
      ca,
    })
    const heard: Record<number, string> = {}
    socket.on('open', () => {
      speak((channel, text) => {
        const bytes = Buffer.from(text as Uint8Array)
        socket.send(isBase64 ? `${channel}${bytes.toString('base64')}` : Buffer.concat([Buffer.of(channel), bytes]))
      })
    })
    socket.on('message', (data: Buffer) => {
      const channel = isBase64 ? Number(String.fromCharCode(data[0] ?? 0)) : (data[0] ?? 0)
      const text = isBase64 ? Buffer.from(data.subarray(1).toString(), 'base64').toString() : data.subarray(1).toString()
      heard[channel] = (heard[channel] ?? '') + text
    })
    socket.on('close', (code) => resolve({ protocol: socket.protocol, heard, code }))
    socket.on('unexpected-response', (_request, response) => reject(new Error(`status ${response.statusCode}`)))
    socket.on('error', reject)
  })
}

const silent = () => {}
const success = '{"metadata":{},"status":"Success"}'
const exit7 =
  '{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit status 7","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}'

/** By way of the API server, and to the kubelet itself. */
const ways: [string, (query: string) => { url: string; path: string }][] = [
  ['to the kubelet', (query) => ({ url: node.kubeletUrl, path: `/exec/default/p/c?${query}` })],
  [
    'through the API server',
    (query) => {
      const names = { input: 'stdin', output: 'stdout', error: 'stderr' } as Record<string, string>
      return {
        url: node.url,
        path: `/api/v1/namespaces/default/pods/p/exec?${query.replace(/\b(input|output|error)=/g, (_, name: string) => `${names[name]}=`)}`,
      }
    },
  ],
]

for (const [way, place] of ways) {
  const exec = (query: string, protocol: string, speak: Parameters<typeof webSocketTo>[3] = silent) => {
    const { url, path } = place(query)
    return webSocketTo(url, path, protocol, speak)
  }

  for (const protocol of ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io']) {
    test(`${way}, ${protocol}: output, errors and exit codes`, async () => {
      const query = 'command=exit&output=1&error=1'
      assert.deepEqual(await exec(`${query}&command=0`, protocol), {
        ...{ protocol, code: 1000, heard: { 1: 'to out', 2: 'to err', 3: success } },
      })
      assert.deepEqual((await exec(`${query}&command=7`, protocol)).heard, { 1: 'to out', 2: 'to err', 3: exit7 })
    })
  }

  for (const protocol of ['channel.k8s.io', 'base64.channel.k8s.io', '']) {
    test(`${way}, ${protocol || 'no protocol named'}: failures are sentences`, async () => {
      const query = 'command=exit&output=1'
      assert.deepEqual((await exec(`${query}&command=0`, protocol)).heard, { 1: 'to out' })
      assert.deepEqual((await exec(`${query}&command=7`, protocol)).heard, {
        1: 'to out',
        3: 'command terminated with non-zero exit code: exit status 7',
      })
    })
  }

  test(`${way}: input has an end`, async () => {
    const text = 'x'.repeat(300_000)
    const { heard } = await exec('command=echo&input=1&output=1', 'v5.channel.k8s.io', (say) => {
      say(0, text)
      say(0, ' and more')
      say(255, Buffer.of(0))
    })
    assert.deepEqual(heard, { 1: `${text} and more`, 3: success })
  })

  test(`${way}: a terminal learns its size`, async () => {
    const { heard } = await exec('command=size&input=1&output=1&tty=1', 'v5.channel.k8s.io', (say) => say(4, '{"Width":80,"Height":24}'))
    assert.deepEqual(heard, { 1: '{"Width":80,"Height":24}', 3: success })
  })

  test(`${way}: a conversation that breaks off is a failure`, async () => {
    const { heard } = await exec('command=break&output=1', 'v5.channel.k8s.io')
    assert.match(heard[3] ?? '', /"status":"Failure".*"reason":"InternalError"/)
  })

  test(`${way}: what the runtime refuses is refused`, async () => {
    await assert.rejects(exec('command=refuse&output=1', 'v5.channel.k8s.io'), /status 403/)
    await assert.rejects(exec('command=echo&output=1', 'v9.channel.k8s.io'), /status 403/)
  })
}

/** A SPDY connection to a path, by POST as kubectl does it. */
async function spdyTo(url: string, path: string, protocols: string[]) {
  const { certificatePem: cert, privateKeyPem } = node.keys.identity('admin')
  const client = nodeUpgradeClient({ cert, key: privateKeyPem, ca: node.keys.authority('ca').certificatePem })
  const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocols }
  const answer = await client.send({ url: `${url}${path}`, method: 'POST', headers })
  client[Symbol.dispose]()
  return answer
}

for (const [way, place] of [
  ['to the kubelet', () => ({ url: node.kubeletUrl, path: '/portForward/default/p' })],
  ['through the API server', () => ({ url: node.url, path: '/api/v1/namespaces/default/pods/p/portforward' })],
] as const) {
  test(`${way}: SPDY goes through as it is, with all the protocols offered`, async () => {
    const { url, path } = place()
    const { upgraded, headers } = await spdyTo(url, path, ['portforward.k8s.io', 'other.k8s.io'])
    assert.ok(upgraded)
    assert.equal(headers['x-stream-protocol-version'], 'portforward.k8s.io')
    while (fake.asked.at(-1) !== 'POST portforward SPDY/3.1 portforward.k8s.io,other.k8s.io') await systemClock.sleep(10)
    assert.equal(await throughPort(new SpdyConnection({ ...upgraded, role: 'client' })), '8080 HELLO')
  })

  test(`${way}: SPDY in a WebSocket`, async () => {
    const { url, path } = place()
    const { certificatePem: cert, privateKeyPem } = node.keys.identity('admin')
    const response = await new Promise<{ socket: import('node:stream').Duplex; head: Buffer; protocol: string }>((resolve, reject) => {
      const request = secureRequest(`${url}${path}`, {
        ...{ agent: false, ca: node.keys.authority('ca').certificatePem, cert, key: privateKeyPem },
        headers: {
          ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key },
          'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io',
        },
      })
      request.on('upgrade', (incoming, socket, head) =>
        resolve({ socket, head, protocol: String(incoming.headers['sec-websocket-protocol']) }),
      )
      request.on('response', ({ statusCode }) => reject(new Error(`status ${statusCode}`)))
      request.on('error', reject)
      request.end()
    })
    assert.equal(response.protocol, 'SPDY/3.1+portforward.k8s.io')
    while (fake.asked.at(-1) !== 'POST portforward SPDY/3.1 portforward.k8s.io') await systemClock.sleep(10)
    response.socket.destroy()
  })
}

function throughPort(connection: SpdyConnection): Promise<string> {
  const error = connection.open({ streamtype: 'error', port: '8080', requestid: '0' })
  error.end()
  const data = connection.open({ streamtype: 'data', port: '8080', requestid: '0' })
  return new Promise((resolve) => {
    let heard = ''
    data.onData = (bytes) => {
      heard += String(bytes)
      data.end()
    }
    data.onEnd = () => {
      connection.close()
      resolve(heard)
    }
    data.write(Buffer.from('hello'))
  })
}

test('our kubectl that is interrupted in a conversation does not tell of success', { timeout: 120_000 }, async () => {
  const interrupt = new AbortController()
  const before = fake.asked.length
  const result = inProcessKubectl(node.kubeconfig)(['exec', 'p', '--', 'hang'], '', {}, interrupt.signal)
  // Once the conversation is held, or has failed, whichever comes first.
  const ended = result.then(() => true)
  while (fake.asked.length === before && !(await Promise.race([ended, sleep(50, false)]))) {}
  interrupt.abort()
  assert.deepEqual(await result, { exitCode: 130, stdout: '', stderr: '' })
})

for (const { path: kubectl, version } of installedKubectls().filter((_, index, all) => index === 0 || index === all.length - 1)) {
  test(`kubectl ${version} is content with our end of SPDY`, async () => {
    const echoed = await node.run(kubectl, ['exec', '-i', 'p', '--', 'echo'], 'x'.repeat(100_000))
    assert.deepEqual(echoed, { exitCode: 0, stdout: 'x'.repeat(100_000), stderr: '' })
    const failed = await node.run(kubectl, ['exec', 'p', '--', 'exit', '7'])
    assert.deepEqual(failed, { exitCode: 7, stdout: 'to out', stderr: 'to errcommand terminated with exit code 7\n' })
    const refused = await node.run(kubectl, ['exec', 'p', '--', 'refuse'])
    assert.match(refused.stderr, /not for us/)
    assert.equal(refused.exitCode, 1)
  })
}

test('the API server translates for nodes that do not say that they take WebSockets', async () => {
  const status = { declaredFeatures: null }
  await node.client.patch(Node, { name: 'n1' }, { status }, { subresource: 'status', type: 'merge' })
  const path = '/api/v1/namespaces/default/pods/p/exec?stdin=true&stdout=true&command=echo'
  const { heard } = await webSocketTo(node.url, path, 'v5.channel.k8s.io', (say) => {
    say(0, 'hello')
    say(255, Buffer.of(0))
  })
  assert.deepEqual(heard, { 1: 'hello', 3: success })
  const missing = '/api/v1/namespaces/default/pods/p/exec?stdout=true&command=refuse'
  await assert.rejects(webSocketTo(node.url, missing, 'v5.channel.k8s.io', silent), /status 403/)
})

/** Everything a client hears, from the moment it is listened to. */
function messagesOf(path: string, protocol?: string): { next(): Promise<string>; close(): void } {
  const { certificatePem: cert, privateKeyPem } = node.keys.identity('admin')
  const ca = node.keys.authority('ca').certificatePem
  const socket = new WebSocket(`${node.url.replace('https', 'wss')}${path}`, protocol ?? [], { cert, key: privateKeyPem, ca })
  const heard: string[] = []
  const waiting: ((text: string) => void)[] = []
  const hear = (text: string) => {
    const wake = waiting.shift()
    if (wake === undefined) heard.push(text)
    else wake(text)
  }
  socket.on('message', (data: Buffer) => hear(data.toString()))
  socket.on('close', (code) => hear(`closed with ${code}`))
  socket.on('error', (error) => hear(String(error)))
  return {
    async next() {
      return heard.shift() ?? new Promise((resolve) => waiting.push(resolve))
    },
    close: () => socket.close(),
  }
}

test('a watch over a WebSocket has a message for each event', async () => {
  const messages = messagesOf('/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dws')
  await node.client.create(ConfigMap, { metadata: { name: 'ws', namespace: 'default' }, data: { a: 'x\ny' } })
  const { type, object } = JSON.parse(await messages.next()) as { type: string; object: { data: object } }
  assert.deepEqual([type, object.data], ['ADDED', { a: 'x\ny' }])
  await node.client.delete(ConfigMap, { namespace: 'default', name: 'ws' })
  assert.match(await messages.next(), /^\{"type":"DELETED"/)
  messages.close()
  assert.match(await messages.next(), /^closed with/)
  const ending = messagesOf('/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dnone')
  assert.equal(await ending.next(), 'closed with 1000')
  const refused = messagesOf('/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=odd%3Dx')
  assert.match(await refused.next(), /Unexpected server response: 400/)
})

test('logs over a WebSocket come in pieces', async () => {
  /** The first message, what is in the others, however many there are, and the last. */
  const piecesOf = async (protocol: string, decode: (text: string) => string): Promise<string[]> => {
    const messages = messagesOf('/api/v1/namespaces/default/pods/p/log', protocol)
    const heard: string[] = []
    while (!/^closed|Error/.test(heard.at(-1) ?? '')) heard.push(await messages.next())
    return [heard.at(0) ?? '', heard.slice(1, -1).map(decode).join(''), heard.at(-1) ?? '']
  }
  assert.deepEqual(await piecesOf('binary.k8s.io', (text) => text), ['', 'one\ntwo\n', 'closed with 1000'])
  const decoded = (text: string) => Buffer.from(text, 'base64').toString()
  assert.deepEqual(await piecesOf('base64.binary.k8s.io', decoded), ['', 'one\ntwo\n', 'closed with 1000'])
})

test('clients that tear their connections at any moment bring nobody down', async () => {
  const { certificatePem: cert, privateKeyPem } = node.keys.identity('admin')
  const random = seededRandom(11)
  const kinds = ['websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'SPDY/3.1']
  const places = [
    [node.url, 'GET /api/v1/namespaces/default/pods/p/exec?stdout=true&stdin=true&command=hang'],
    [node.kubeletUrl, 'POST /exec/default/p/c?output=1&input=1&command=hang'],
    [node.url, 'GET /api/v1/namespaces/default/pods/p/portforward'],
  ] as const
  for (let round = 0; round < 60; round++) {
    const [url, line] = places[round % places.length] as (typeof places)[number]
    const method = random.int(2) === 0 ? line : line.replace(/^\w+/, random.int(2) === 0 ? 'GET' : 'POST')
    const head = `${method} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${kinds[random.int(2)]}\r\n\r\n`
    const rubbish = Buffer.from(random.bytes(random.int(200)))
    await new Promise<void>((resolve) => {
      const { hostname, port } = new URL(url)
      const raw = connectPlain({ host: hostname, port: Number(port) })
      const socket = connect({ socket: raw, cert, key: privateKeyPem, rejectUnauthorized: false }, () => {
        socket.write(Buffer.concat([Buffer.from(head), rubbish]))
        const tear = () => (random.int(2) === 0 ? raw.destroy() : raw.resetAndDestroy())
        if (random.int(3) === 0) tear()
        else setTimeout(tear, random.int(15))
      })
      raw.on('error', () => {})
      socket.on('error', () => {})
      socket.on('close', () => resolve())
    })
  }
  await node.client.get(Node, '', 'n1')
})

test('what is over is closed at every end', { timeout: 240_000 }, async () => {
  while (fake.open > 0) await systemClock.sleep(10)
})
