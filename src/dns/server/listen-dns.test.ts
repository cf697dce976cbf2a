/** Real packets on the loopback. */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Duplex } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { listenHttp } from '#base/http-server.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { seededRandom } from '#base/random.ts'
import { nodeSockets, type SocketAddress, type Sockets, type TcpConnection } from '#base/sockets.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { dnsMetrics } from '#dns/dns-metrics.ts'
import { DnsServer } from '#dns/run-dns.ts'
import { listenDns } from '#dns/server/listen-dns.ts'
import { messageReader } from '#dns/server/message-frames.ts'
import { ClusterNames } from '#dns/zone/cluster-names.ts'
import type { DnsMessage } from '#wire/dns/dns-message.ts'
import { readMessage } from '#wire/dns/read-message.ts'
import { writeMessage } from '#wire/dns/write-message.ts'

const query = (name: string, changes: Partial<DnsMessage> = {}): Buffer =>
  writeMessage({
    ...{ id: 4711, opcode: 0, isResponse: false, isAuthoritative: false, isTruncated: false, isRecursionDesired: true, rcode: 0 },
    ...{ isRecursionAvailable: false, isAuthenticated: false, isCheckingDisabled: false, answers: [], authority: [], additional: [] },
    questions: [{ name, type: 1, class: 1 }],
    ...changes,
  })

describe('a name server on real sockets', () => {
  const log: LogRecord[] = []
  const metrics = new Metrics()
  let server: DnsServer
  let port = 0
  let accepts = true
  /** How many packets and connections there have been. */
  let came = 0

  before(async () => {
    const names = new ClusterNames(() => 0)
    names.setNamespace({ metadata: { name: 'shop' } } as V1Namespace)
    names.setService({ metadata: { namespace: 'shop', name: 'many' }, spec: { clusterIP: 'None' } })
    const endpoints = Array.from({ length: 200 }, (_, index) => ({ addresses: [`10.244.1.${index}`] }))
    const labels = { 'kubernetes.io/service-name': 'many' }
    names.setSlice({ metadata: { namespace: 'shop', name: 'many-1', labels }, addressType: 'IPv4', endpoints })
    names.setService({ metadata: { namespace: 'shop', name: 'web' }, spec: { clusterIP: '10.96.0.5' } })
    server = new DnsServer({
      ...{
        clock: systemClock,
        random: seededRandom(1),
        files: nodeFiles,
        sockets: nodeSockets,
        logger: recordingLogger(log),
        metrics,
        listenHttp,
      },
      ...{
        dnsMetrics: dnsMetrics(metrics),
        environment: {},
        ownAddresses: [],
        listenAt: [{ host: '127.0.0.1', port: 0 }],
        accepts() {
          came++
          return accepts
        },
      },
      cluster: { names, hasSynced: () => true, synced: Promise.resolve(), followPods: () => {}, stop: () => {} },
    })
    await server.configure('cluster.local {\nkubernetes\n}')
    port = server.addresses[0]?.port ?? 0
  })
  after(() => server.stop())

  const byUdp = async (packet: Uint8Array): Promise<DnsMessage> => {
    const socket = createSocket('udp4')
    socket.send(packet, port, '127.0.0.1')
    const [answer] = (await once(socket, 'message')) as [Buffer]
    socket.close()
    return readMessage(answer)
  }
  const byTcp = (bytes: readonly Uint8Array[], count: number): Promise<DnsMessage[]> =>
    new Promise((resolve, reject) => {
      const answers: DnsMessage[] = []
      const socket = connect(port, '127.0.0.1', () => {
        for (const each of bytes) socket.write(each)
      })
      const read = messageReader((packet) => {
        answers.push(readMessage(packet))
        if (answers.length < count) return
        socket.destroy()
        resolve(answers)
      })
      socket.on('data', read).on('error', reject)
    })
  const framed = (packet: Buffer) => Buffer.concat([Buffer.of(packet.length >> 8, packet.length & 0xff), packet])

  test('answers a question with its number, its name as written, and the bits that belong', async () => {
    const answer = await byUdp(query('WEB.shop.svc.cluster.local.', { edns: { version: 0, payloadBytes: 4096, isDnssecOk: true } }))
    const { id, isResponse, isAuthoritative, isRecursionDesired, rcode, edns } = answer
    assert.deepEqual([id, isResponse, isAuthoritative, isRecursionDesired, rcode], [4711, true, true, true, 0])
    assert.deepEqual(edns, { version: 0, payloadBytes: 4096, isDnssecOk: true })
    assert.deepEqual(answer.answers, [{ name: 'WEB.shop.svc.cluster.local.', class: 1, ttlSeconds: 5, type: 'A', address: '10.96.0.5' }])
  })

  test('says so where the answer does not fit, and gives all of it by TCP', async () => {
    const cut = await byUdp(query('many.shop.svc.cluster.local.'))
    assert.ok(cut.isTruncated && cut.answers.length < 40, String(cut.answers.length))
    const wide = await byUdp(query('many.shop.svc.cluster.local.', { edns: { version: 0, payloadBytes: 4096, isDnssecOk: false } }))
    assert.deepEqual([wide.isTruncated, wide.answers.length], [false, 200])
    const [whole] = await byTcp([framed(query('many.shop.svc.cluster.local.'))], 1)
    assert.deepEqual([whole?.isTruncated, whole?.answers.length], [false, 200])
  })

  test('takes several questions on one connection, in pieces of any size', async () => {
    const stream = Buffer.concat([1, 2, 3].map((id) => framed(query('web.shop.svc.cluster.local.', { id }))))
    const pieces = [stream.subarray(0, 1), stream.subarray(1, 5), stream.subarray(5, 70), stream.subarray(70)]
    assert.deepEqual(
      (await byTcp(pieces, 3)).map(({ id }) => id),
      [1, 2, 3],
    )
  })

  const refused: [string, Buffer, number][] = [
    ['a packet that is no message', Buffer.concat([query('web.shop.svc.cluster.local.').subarray(0, 20), Buffer.of(0xc0, 0xff)]), 1],
    ['two questions', query('.', { questions: [1, 28].map((type) => ({ name: 'web.shop.svc.cluster.local.', type, class: 1 })) }), 1],
    ['no question', query('.', { questions: [] }), 1],
    ['another operation', query('web.shop.svc.cluster.local.', { opcode: 5 }), 4],
    ['another class', query('.', { questions: [{ name: 'web.shop.svc.cluster.local.', type: 1, class: 3 }] }), 5],
    ['a zone that is not served', query('example.org.'), 5],
    [
      'a version of the extensions that nobody knows',
      query('web.shop.svc.cluster.local.', { edns: { version: 1, payloadBytes: 512, isDnssecOk: false } }),
      16,
    ],
    ['a transfer of the zone', query('.', { questions: [{ name: 'cluster.local.', type: 252, class: 1 }] }), 5],
  ]
  for (const [what, packet, rcode] of refused) {
    test(`refuses ${what}`, async () => {
      const answer = await byUdp(packet)
      assert.deepEqual([answer.id, answer.rcode, answer.answers.length], [4711, rcode, 0])
    })
  }

  test('does not answer answers, noise, and those it does not know', async () => {
    const socket = createSocket('udp4')
    const answers: Buffer[] = []
    socket.on('message', (message) => answers.push(message))
    const before = came
    const untilCame = async (count: number) => {
      while (came < before + count) await new Promise((resolve) => setImmediate(resolve))
    }
    socket.send(query('web.shop.svc.cluster.local.', { isResponse: true }), port, '127.0.0.1')
    socket.send(Buffer.of(1, 2, 3), port, '127.0.0.1')
    await untilCame(2)
    accepts = false
    socket.send(query('web.shop.svc.cluster.local.', { id: 1 }), port, '127.0.0.1')
    const stranger = connect(port, '127.0.0.1')
    await once(stranger, 'close')
    await untilCame(4)
    accepts = true
    socket.send(query('web.shop.svc.cluster.local.', { id: 2 }), port, '127.0.0.1')
    while (answers.length === 0) await once(socket, 'message')
    socket.close()
    assert.deepEqual(
      answers.map((answer) => answer.readUInt16BE(0)),
      [2],
    )
  })

  test('takes a new configuration between two questions, and keeps the old one where the new is wrong', async () => {
    await assert.rejects(server.configure('cluster.local {\nnothing\n}'), /no plugin nothing/)
    assert.equal((await byUdp(query('web.shop.svc.cluster.local.'))).rcode, 0)
    await server.configure('cluster.local {\nkubernetes {\nttl 60\n}\n}')
    assert.equal((await byUdp(query('web.shop.svc.cluster.local.'))).answers[0]?.ttlSeconds, 60)
    assert.equal(server.addresses[0]?.port, port)
  })

  test('counts by the names that dashboards know', () => {
    const text = metrics.text()
    assert.match(
      text,
      /coredns_dns_requests_total\{server="dns:\/\/:53",zone="cluster\.local\.",view="",proto="udp",family="1",type="A"\} \d+/,
    )
    assert.match(text, /coredns_dns_responses_total\{server="dns:\/\/:53",zone="cluster\.local\.",view="",rcode="NOERROR",plugin=""\} \d+/)
    assert.match(text, /coredns_dns_request_duration_seconds_count\{.*\} \d+/)
  })
})

test('whoever does not read his answers is not answered any more, however many questions have come', async () => {
  const peer = new Duplex({ read() {}, write() {} })
  let answered = 0
  let connected: (connection: TcpConnection) => void = () => {}
  const sockets = {
    ...nodeSockets,
    listenTcp: async (_: SocketAddress, onConnection: typeof connected) => {
      connected = onConnection
      return { port: 53, close: async () => {} }
    },
    bindUdp: async () => ({ send() {}, close() {} }),
  } as unknown as Sockets
  const answer = () => {
    answered++
    return Buffer.alloc(8000)
  }
  await listenDns({ at: { host: '127.0.0.1', port: 53 }, sockets, clock: new VirtualClock(), answer })
  connected({ stream: peer, remote: { host: '10.0.0.1', port: 1 }, destroy: () => peer.destroy() } as TcpConnection)
  const question = query('web.shop.svc.cluster.local.')
  peer.push(Buffer.concat(Array.from({ length: 1000 }, () => Buffer.concat([Buffer.of(0, question.length), question]))))
  await once(peer, 'pause')
  assert.ok(answered > 0 && answered < 20, `${answered} were answered`)
  peer.destroy()
})
