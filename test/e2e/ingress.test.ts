/** Ingress and the addresses of load balancers, with real pods on two real nodes. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import * as http2 from 'node:http2'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { WebSocket, WebSocketServer } from 'ws'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { V1Ingress } from '#api/networking/v1/types.gen.ts'
import { systemRandom } from '#base/random.ts'
import { selfSignedCertificate } from '#ingress/data-plane/self-signed-certificate.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { freePort } from '../support/free-port.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl.ts'
import { whyNoNetworkWorld } from '../support/network-world.ts'
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts'

const newest = installedKubectls().at(-1)
const whyNot = whyNoContainers() || whyNoNetworkWorld('nft') || (newest === undefined ? 'kubectl is not installed' : false)

type Answer = { status: number; body: string }

/** On a connection of its own. */
function ask(host: string, port: number, path: string, name: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onAnswer = async (answer: IncomingMessage) => {
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk as Buffer)
      resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString().trim() })
    }
    const sent = request(
      { host, port, path, headers: { host: name }, agent: false, timeout: 60_000 },
      (answer) => void onAnswer(answer).catch(reject),
    )
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')))
    sent.on('error', reject)
    sent.end()
  })
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const begin = Date.now(); !(await holds()); await new Promise((resolve) => setTimeout(resolve, 200)))
    assert.ok(Date.now() - begin < 120_000, `waited in vain for ${what}`)
}

describe('from outside to pods', { skip: whyNot, timeout: 600_000 }, () => {
  let cluster: RealCluster
  let kubectl: Kubectl
  let httpPort: number
  let httpsPort: number
  let address = ''
  const servers: { close(): unknown }[] = []

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}\n${cluster.process.output()}`)
    return stdout
  }
  const service = () => JSON.parse(ok(['get', 'service', 'web', '-o', 'json'])) as V1Service

  before(async () => {
    ;[httpPort, httpsPort] = [await freePort(), await freePort()]
    const flags = ['--nodes', '2', '--ingress-http-port', String(httpPort), '--ingress-https-port', String(httpsPort)]
    cluster = await startRealCluster({ flags: [...flags, '--service-cluster-ip-range', `10.${190 + (process.pid % 50)}.0.0/16`] })
    kubectl = cluster.kubectlAt(newest?.path ?? '')
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=180s'])
    ok(['create', '-f', '-'], readFileSync(join(import.meta.dirname, 'ingress', 'web.yaml'), 'utf8'))
    giveCertificate('first.example')
    ok(['rollout', 'status', 'deployment/web', '--timeout=180s'])
    await until('an address of the service', () => (service().status?.loadBalancer?.ingress ?? []).length > 0)
    address = service().status?.loadBalancer?.ingress?.[0]?.ip ?? ''
  })
  after(async () => {
    for (const server of servers) server.close()
    await cluster?.[Symbol.asyncDispose]()
  })

  /** The certificate of shop.example, by the name that tells it from others. */
  const giveCertificate = (mark: string) => {
    const { cert, key } = selfSignedCertificate('shop.example', ['shop.example', mark], { nowMs: Date.now(), random: systemRandom })
    const [certFile, keyFile] = [join(cluster.directory, 'tls.crt'), join(cluster.directory, 'tls.key')]
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key)
    const made = ok(['create', 'secret', 'tls', 'shop', '--cert', certFile, '--key', keyFile, '--dry-run=client', '-o', 'yaml'])
    ok(['apply', '-f', '-'], made)
  }
  const shownCertificate = async (): Promise<string> => {
    const socket = connectTls({ port: httpsPort, servername: 'shop.example', rejectUnauthorized: false })
    try {
      await once(socket, 'secureConnect')
      return socket.getPeerCertificate().subjectaltname ?? ''
    } catch (error) {
      return String(error)
    } finally {
      socket.destroy()
    }
  }
  /** A server of the test in place of pods. */
  const serveAs = (name: string, portName: string, appProtocol: string, host: string, port: number) =>
    ok(
      ['create', '-f', '-'],
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'List' },
        items: [
          { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ name: portName, port: 80, appProtocol }] } },
          {
            ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
            metadata: { name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
            ports: [{ name: portName, port }],
            endpoints: [{ addresses: [host] }],
          },
        ],
      }),
    )

  test('hosts, paths and the default backend lead to pods, and the Ingress shows where it is', async () => {
    await until(
      'the ingress',
      async () => (await ask('127.0.0.1', httpPort, '/shop/', 'shop.example').catch(() => undefined))?.status === 200,
    )
    assert.equal((await ask('127.0.0.1', httpPort, '/shop/', 'shop.example')).body, 'shop')
    assert.equal((await ask('127.0.0.1', httpPort, '/gone', 'shop.example')).status, 503)
    assert.equal((await ask('127.0.0.1', httpPort, '/shopping', 'shop.example')).status, 404, "the default backend's own answer")
    const names = new Set(ok(['get', 'pods', '-l', 'app=web', '-o', 'name']).trim().replaceAll('pod/', '').split('\n'))
    const seen = new Set<string>()
    await until('pods of both nodes', async () => {
      for (let round = 0; round < 8; round++) {
        const answer = await ask('127.0.0.1', httpPort, '/', 'unknown.example').catch(() => undefined)
        if (answer?.status === 200) seen.add(answer.body)
      }
      return seen.size >= names.size
    })
    assert.deepEqual(seen, names)
    const ingress = () => JSON.parse(ok(['get', 'ingress', 'web', '-o', 'json'])) as V1Ingress
    assert.equal(ingress().spec.ingressClassName, 'typernetes')
    const shown = () => ingress().status?.loadBalancer?.ingress?.[0]?.ip ?? ''
    await until('the address of the ingress', () => shown() !== '')
    const isServed = async () => (await ask(shown(), httpPort, '/shop/', 'shop.example').catch(() => undefined))?.body === 'shop'
    await until('the ingress at its address', isServed)
    const event = /BackendNotFound .*service "default\/nothing" not found/
    await until('the event', () => event.test(ok(['describe', 'ingress', 'web'])))
  })

  test('TLS by name, WebSocket and gRPC go through, and a new certificate ends no connection', async () => {
    const { range } = JSON.parse(readFileSync(join(cluster.dataDir, 'node-network.json'), 'utf8')) as { range: string }
    const host = range.replace(/\.0\/24$/, '.1')
    const sockets = new WebSocketServer({ host, port: 0 })
    sockets.on('connection', (socket) => socket.on('message', (text) => socket.send(`echo ${text}`)))
    const calls = http2.createServer()
    calls.on('stream', (stream: http2.ServerHttp2Stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.pipe(stream)
    })
    calls.listen(0, host)
    await Promise.all([once(sockets, 'listening'), once(calls, 'listening')])
    servers.push(sockets, calls)
    serveAs('socket', 'ws', 'kubernetes.io/ws', host, (sockets.address() as { port: number }).port)
    serveAs('calls', 'grpc', 'kubernetes.io/h2c', host, (calls.address() as { port: number }).port)
    const isCalled = async () => (await ask('127.0.0.1', httpPort, '/x', 'a.live.example').catch(() => undefined))?.status === 200
    await until('the server of the calls', isCalled)

    const socket = new WebSocket(`wss://127.0.0.1:${httpsPort}/socket`, { headers: { host: 'a.live.example' }, rejectUnauthorized: false })
    await once(socket, 'open')
    const say = async (text: string) => {
      socket.send(text)
      return String((await once(socket, 'message'))[0])
    }
    assert.equal(await say('one'), 'echo one')

    const session = http2.connect(`https://127.0.0.1:${httpsPort}`, { rejectUnauthorized: false })
    const call = async (text: string) => {
      const stream = session.request({
        ...{ ':method': 'POST', ':path': '/pkg.Echo/Say', ':authority': 'a.live.example' },
        ...{ 'content-type': 'application/grpc', te: 'trailers' },
      })
      let status: unknown
      stream.on('trailers', (trailers) => {
        status = trailers['grpc-status']
      })
      stream.end(text)
      return `${(await stream.toArray()).join('')} ${status}`
    }
    assert.equal(await call('two'), 'two 0')

    await until('the first certificate', async () => (await shownCertificate()).includes('first.example'))
    giveCertificate('second.example')
    await until('the new certificate', async () => (await shownCertificate()).includes('second.example'))
    assert.equal(await say('three'), 'echo three')
    assert.equal(await call('four'), 'four 0')
    socket.close()
    session.close()
  })

  test('a service has an address that the machine reaches, for which one node answers, and another one when that may not', async () => {
    await until('an answer', async () => (await ask(address, 80, '/shop/', 'x').catch(() => undefined))?.body === 'shop')
    const holder = () => service().metadata.annotations?.['loadbalancer.typernetes.io/node'] ?? ''
    const nodes = ok(['get', 'nodes', '-o', 'name']).trim().replaceAll('node/', '').split('\n')
    await until('the node that answers', () => holder() !== '')
    const first = holder()
    assert.ok(nodes.includes(first), first)
    const label = 'node.kubernetes.io/exclude-from-external-load-balancers'
    const neighbour = () => /lladdr (\S+)/.exec(spawnSync('ip', ['neighbour', 'show', address], { encoding: 'utf8' }).stdout)?.[1]
    const before_ = neighbour()
    ok(['label', 'node', first, `${label}=true`])
    await until('another node', () => holder() !== '' && holder() !== first)
    await until('the other node to answer', async () => {
      const answer = await ask(address, 80, '/shop/', 'x').catch(() => undefined)
      const now = neighbour()
      // Where the machine itself is a node it asks nobody.
      return answer?.body === 'shop' && (before_ === undefined || now === undefined || now !== before_)
    })
    ok(['label', 'node', first, `${label}-`])
  })

  test('rolling the deployment under load fails no request, through the ingress and by the address of the service', async () => {
    let isOver = false
    const failures: string[] = []
    const counts = { ingress: 0, address: 0 }
    const load = async (kind: keyof typeof counts, once_: () => Promise<Answer>) => {
      while (!isOver) {
        counts[kind]++
        try {
          const { status } = await once_()
          if (status !== 200) failures.push(`${kind}: ${status}`)
        } catch (error) {
          failures.push(`${kind}: ${error}`)
        }
      }
    }
    const running = [
      ...Array.from({ length: 4 }, () => load('ingress', () => ask('127.0.0.1', httpPort, '/shop/', 'shop.example'))),
      ...Array.from({ length: 2 }, () => load('address', () => ask(address, 80, '/shop/', 'x'))),
    ]
    try {
      const old = new Set(ok(['get', 'pods', '-l', 'app=web', '-o', 'name']).trim().split('\n'))
      ok(['rollout', 'restart', 'deployment/web'])
      await until('the old pods to be gone', () => {
        const present = ok(['get', 'pods', '-l', 'app=web', '-o', 'name']).trim().split('\n')
        return present.length === 2 && !present.some((name) => old.has(name))
      })
      await until('enough requests', () => counts.ingress > 20 && counts.address > 10)
    } finally {
      isOver = true
      await Promise.all(running)
    }
    assert.deepEqual(failures, [], `of ${JSON.stringify(counts)}`)
  })
})
