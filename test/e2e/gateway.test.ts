/** The Gateway API with its own definitions, real kubectl and real connections; pods are servers of the test. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import * as http2 from 'node:http2'
import { after, before, describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { thisMachine } from '#base/machine.ts'
import { systemRandom } from '#base/random.ts'
import { selfSignedCertificate } from '#ingress/data-plane/self-signed-certificate.ts'
import { definitionsOf } from '../crds/read-definitions.ts'
import { freePort } from '../support/free-port.ts'
import { installedKubectls, type Kubectl, kubectl as kubectlAt } from '../support/kubectl.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const newest = installedKubectls().at(-1)
/** Endpoints may not have loopback addresses. */
const own = thisMachine()
  .addresses()
  .find((address) => !address.includes(':'))
const whyNot = newest === undefined ? 'kubectl is not installed' : own === undefined ? 'the machine has no address' : false
const api = 'gateway.networking.k8s.io/v1'

type Condition = { type: string; status: string; reason: string }
type Answer = { status: number; body: string; headers: IncomingMessage['headers'] }

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const begin = Date.now(); !(await holds()); await new Promise((resolve) => setTimeout(resolve, 50)))
    assert.ok(Date.now() - begin < 90_000, `waited in vain for ${what}`)
}

describe('the Gateway API', { skip: whyNot, timeout: 600_000 }, () => {
  let cluster: RunningCluster
  let kubectl: Kubectl
  let [httpPort, httpsPort, otherPort] = [0, 0, 0]
  const servers: { close(): unknown }[] = []
  const mirrored: string[] = []

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}\n${cluster.output()}`)
    return stdout
  }
  const apply = (...items: object[]) => ok(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const ask = (path: string, { host = 'shop.example', method = 'GET', headers = {}, port = httpPort } = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const onAnswer = async (answer: IncomingMessage) => {
        const chunks: Buffer[] = []
        for await (const chunk of answer) chunks.push(chunk as Buffer)
        resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString(), headers: answer.headers })
      }
      const sent = request(
        { port, path, method, headers: { host, ...headers }, agent: false },
        (answer) => void onAnswer(answer).catch(reject),
      )
      sent.on('error', reject)
      sent.end()
    })
  const said = (conditions: readonly Condition[] | undefined, type: string) => {
    const found = conditions?.find((each) => each.type === type)
    return found && `${found.status} ${found.reason}`
  }
  /** Without anything while there is no such object, or no such kind yet. */
  const status = (kind: string, name: string, namespace = 'default') => {
    const { exitCode, stdout } = kubectl.run(['get', kind, name, '-n', namespace, '-o', 'json'])
    return (exitCode === 0 && JSON.parse(stdout).status) || {}
  }
  const routeSaid = (kind: string, name: string, type: string) => said(status(kind, name).parents?.[0]?.conditions, type)

  /** A service with this server behind it. */
  const serviceAt = (name: string, port: number, { namespace = 'default', appProtocol = 'http' } = {}) => [
    { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { ports: [{ name: 'p', port: 80, appProtocol }] } },
    {
      ...{
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        addressType: 'IPv4',
        ports: [{ name: 'p', port }],
        endpoints: [{ addresses: [own] }],
      },
      metadata: { name: `${name}-1`, namespace, labels: { 'kubernetes.io/service-name': name } },
    },
  ]
  const httpRoute = (name: string, spec: object) => ({
    apiVersion: api,
    kind: 'HTTPRoute',
    metadata: { name },
    spec: { parentRefs: [{ name: 'edge' }], ...spec },
  })
  const to = (name: string, more: object = {}) => ({ name, port: 80, ...more })

  before(async () => {
    ;[httpPort, httpsPort, otherPort] = [await freePort(), await freePort(), await freePort()]
    const ports = ['--ingress-http-port', String(httpPort), '--ingress-https-port', String(httpsPort)]
    cluster = await startCluster(['--nodes', '0', '--store', 'memory', '--ingress', 'on', '--ingress-listen', '127.0.0.1', ...ports])
    kubectl = kubectlAt(newest?.path ?? '', '', cluster.kubeconfig)
    // Long after the cluster has started.
    ok(['create', '-f', '-'], definitionsOf('gateway-api'))
    ok(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s'])
    const echo = (name: string) =>
      createServer((got, answer) => {
        if (name === 'copy') mirrored.push(got.url ?? '')
        answer.setHeader('x-from', name)
        answer.end(JSON.stringify({ name, url: got.url, headers: got.headers }))
      })
    const calls = http2.createServer()
    calls.on('stream', (stream: http2.ServerHttp2Stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.pipe(stream)
    })
    const start = async (server: ReturnType<typeof createServer> | http2.Http2Server) => {
      server.listen(0, own)
      await once(server, 'listening')
      servers.push(server)
      return (server.address() as { port: number }).port
    }
    ok(['create', 'namespace', 'other'])
    apply(
      ...serviceAt('one', await start(echo('one'))),
      ...serviceAt('two', await start(echo('two'))),
      ...serviceAt('copy', await start(echo('copy'))),
      ...serviceAt('far', await start(echo('far')), { namespace: 'other' }),
      ...serviceAt('calls', await start(calls)),
    )
    const { cert, key } = selfSignedCertificate('shop.example', ['shop.example'], { nowMs: Date.now(), random: systemRandom })
    apply({
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'cert' }, type: 'kubernetes.io/tls' },
      stringData: { 'tls.crt': cert, 'tls.key': key },
    })
    await until('the class', () => said(status('gatewayclass', 'typernetes').conditions, 'Accepted') === 'True Accepted')
    apply({
      ...{ apiVersion: api, kind: 'Gateway', metadata: { name: 'edge' } },
      spec: {
        gatewayClassName: 'typernetes',
        listeners: [
          { name: 'http', port: 80, protocol: 'HTTP' },
          { name: 'https', port: 443, protocol: 'HTTPS', hostname: 'shop.example', tls: { certificateRefs: [{ name: 'cert' }] } },
          { name: 'other', port: otherPort, protocol: 'HTTP', hostname: '*.other.example' },
        ],
      },
    })
    await until('the gateway', () => said(status('gateway', 'edge').conditions, 'Programmed') === 'True Programmed')
  })
  after(async () => {
    for (const server of servers) server.close()
    await cluster?.[Symbol.asyncDispose]()
  })

  test('matches on paths, headers, query and method, the most specific first', async () => {
    const rule = (backend: string, ...matches: object[]) => ({ matches, backendRefs: [to(backend)] })
    apply(
      httpRoute('matches', {
        hostnames: ['shop.example'],
        rules: [
          rule('one', { path: { type: 'PathPrefix', value: '/m' } }),
          rule(
            'two',
            { path: { type: 'PathPrefix', value: '/m' }, headers: [{ name: 'Version', value: 'two' }] },
            { path: { type: 'Exact', value: '/m/exact' } },
          ),
          rule('copy', { path: { type: 'PathPrefix', value: '/m' }, queryParams: [{ name: 'to', value: 'copy' }] }),
          rule('far', { path: { type: 'PathPrefix', value: '/m' }, method: 'DELETE' }),
        ],
      }),
    )
    const name = async (...args: Parameters<typeof ask>) => (await ask(...args)).headers['x-from']
    const names = async () => [
      ...[await name('/m/x'), await name('/m/x', { headers: { version: 'two' } }), await name('/m/exact'), await name('/m?to=copy')],
    ]
    // Each of the servers may be heard of at another time.
    await until('the route', async () => (await names()).every((each) => each !== undefined))
    assert.deepEqual(await names(), ['one', 'two', 'two', 'copy'])
    assert.equal((await ask('/m', { method: 'DELETE' })).status, 500, 'a backend that is not there')
    await until('the word on it', () => routeSaid('httproute', 'matches', 'ResolvedRefs') === 'False BackendNotFound')
    assert.equal((await ask('/m', { host: 'else.example' })).status, 404)
    await until('the count of routes', () => status('gateway', 'edge').listeners?.[0]?.attachedRoutes === 1)
    assert.deepEqual(
      status('gateway', 'edge').listeners.map(({ attachedRoutes }: { attachedRoutes: number }) => attachedRoutes),
      [1, 1, 0],
    )
  })

  test('filters change headers and paths, redirect and copy; weights share out', async () => {
    const prefix = (value: string) => [{ path: { type: 'PathPrefix', value } }]
    apply(
      httpRoute('filters', {
        rules: [
          {
            matches: prefix('/rewrite'),
            filters: [
              {
                type: 'URLRewrite',
                urlRewrite: { hostname: 'inside.example', path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new' } },
              },
              { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'x-set', value: '1' }], remove: ['x-gone'] } },
              { type: 'ResponseHeaderModifier', responseHeaderModifier: { add: [{ name: 'x-added', value: '2' }], remove: ['x-from'] } },
              { type: 'RequestMirror', requestMirror: { backendRef: to('copy') } },
            ],
            backendRefs: [to('one')],
          },
          { matches: prefix('/redirect'), filters: [{ type: 'RequestRedirect', requestRedirect: { scheme: 'https', statusCode: 301 } }] },
          { matches: prefix('/weights'), backendRefs: [to('one', { weight: 9 }), to('two', { weight: 1 }), to('copy', { weight: 0 })] },
          { matches: prefix('/slow'), timeouts: { request: '50ms' }, backendRefs: [to('one')] },
        ],
      }),
    )
    await until('the route', async () => (await ask('/weights', { host: 'f.example' })).status === 200)
    const rewritten = await ask('/rewrite/x?q', { host: 'f.example', headers: { 'x-gone': 'y' } })
    const { url, headers } = JSON.parse(rewritten.body)
    assert.deepEqual([url, headers.host, headers['x-set'], headers['x-gone']], ['/new/x?q', 'inside.example', '1', undefined])
    assert.deepEqual([rewritten.headers['x-added'], rewritten.headers['x-from']], ['2', undefined])
    await until('the copy', () => mirrored.includes('/new/x?q'))
    const redirected = await ask('/redirect/y', { host: 'f.example' })
    assert.deepEqual([redirected.status, redirected.headers.location], [301, 'https://f.example/redirect/y'])
    const counts: Record<string, number> = {}
    for (let round = 0; round < 200; round++) {
      const from = String((await ask('/weights', { host: 'f.example' })).headers['x-from'])
      counts[from] = (counts[from] ?? 0) + 1
    }
    assert.deepEqual(Object.keys(counts).sort(), ['one', 'two'])
    assert.ok((counts['one'] ?? 0) > (counts['two'] ?? 0) * 3, JSON.stringify(counts))
  })

  test('another namespace is reached where it says so, and not before', async () => {
    apply(httpRoute('far', { hostnames: ['far.example'], rules: [{ backendRefs: [to('far', { namespace: 'other' })] }] }))
    await until('the refusal', () => routeSaid('httproute', 'far', 'ResolvedRefs') === 'False RefNotPermitted')
    await until('no answer', async () => (await ask('/', { host: 'far.example' })).status === 500)
    apply({
      ...{ apiVersion: 'gateway.networking.k8s.io/v1beta1', kind: 'ReferenceGrant', metadata: { name: 'g', namespace: 'other' } },
      spec: {
        from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'default' }],
        to: [{ group: '', kind: 'Service' }],
      },
    })
    await until('the route', async () => (await ask('/', { host: 'far.example' })).headers['x-from'] === 'far')
    await until('the status', () => routeSaid('httproute', 'far', 'ResolvedRefs') === 'True ResolvedRefs')
  })

  test('TLS is ended with the certificate of the listener, and calls of gRPC go through', async () => {
    apply({
      ...{ apiVersion: api, kind: 'GRPCRoute', metadata: { name: 'calls' } },
      spec: {
        parentRefs: [{ name: 'edge', sectionName: 'https' }],
        rules: [{ matches: [{ method: { service: 'pkg.Echo' } }], backendRefs: [to('calls')] }],
      },
    })
    await until('the route', () => routeSaid('grpcroute', 'calls', 'Accepted') === 'True Accepted')
    const connected = async () => {
      const socket = connectTls({ port: httpsPort, servername: 'shop.example', rejectUnauthorized: false, ALPNProtocols: ['h2'] })
      await once(socket, 'secureConnect')
      return socket
    }
    let socket = await connected()
    await until('the certificate', async () => {
      if (socket.getPeerCertificate().subject.CN === 'shop.example') return true
      socket.destroy()
      socket = await connected()
      return false
    })
    const session = http2.connect('https://shop.example', { createConnection: () => socket })
    const call = async (path: string) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        ':authority': 'shop.example',
        'content-type': 'application/grpc',
        te: 'trailers',
      })
      const headers: http2.IncomingHttpHeaders = {}
      for (const event of ['response', 'trailers']) stream.on(event, (got) => Object.assign(headers, got))
      stream.end('hello')
      const body = (await stream.toArray()).join('')
      return `${body} ${headers['grpc-status']}`
    }
    await until('the call', async () => (await call('/pkg.Echo/Say').catch(() => '')) === 'hello 0')
    assert.equal(await call('/pkg.Nobody/Say'), ' 12')
    session.close()
  })

  test('a listener of another port opens with the Gateway and closes with it; what cannot be served is said', async () => {
    apply(
      httpRoute('other', {
        parentRefs: [{ name: 'edge', sectionName: 'other' }],
        hostnames: ['a.b.other.example'],
        rules: [{ backendRefs: [to('two')] }],
      }),
      httpRoute('nowhere', {
        parentRefs: [{ name: 'edge', sectionName: 'other' }],
        hostnames: ['elsewhere.example'],
        rules: [{ backendRefs: [to('two')] }],
      }),
    )
    const at = { host: `a.b.other.example:${otherPort}`, port: otherPort }
    await until('the other port', async () => (await ask('/', at).catch(() => undefined))?.headers['x-from'] === 'two')
    await until('the word on the other', () => routeSaid('httproute', 'nowhere', 'Accepted') === 'False NoMatchingListenerHostname')
    ok(['delete', 'gateway', 'edge'])
    await until('the port to close', () =>
      ask('/', at).then(
        () => false,
        () => true,
      ),
    )
  })
})
