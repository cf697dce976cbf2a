import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import { atOnce } from '#base/steps.ts'
import { fingerprintOfSource } from '#ingress/controller/fingerprints.ts'
import { evaluateGateways } from '#ingress/gateway/evaluate-gateways.ts'
import type { GatewayObjects } from '#ingress/gateway/gateway-objects.ts'
import { commonHosts } from '#ingress/gateway/hostnames.ts'
import type { Gateway, GatewayListener, HttpRoute, HttpRouteRule, ParentReference, RouteOf } from '#ingress/gateway/kinds.ts'
import { aService } from '#ingress/testing/objects.ts'
import { certificateFor } from '#ingress/testing/proxy-under-test.ts'

const meta = (name: string, namespace = 'default') => ({ name, namespace, generation: 3, creationTimestamp: '2026-01-01T00:00:00Z' })
const listener = (more: Partial<GatewayListener> = {}): GatewayListener => ({ name: 'web', port: 80, protocol: 'HTTP', ...more })
const secure = (more: Partial<GatewayListener> = {}) =>
  listener({ name: 'tls', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'cert' }] }, ...more })
const gateway = (...listeners: GatewayListener[]): Gateway => ({ metadata: meta('g'), spec: { gatewayClassName: 'ours', listeners } })
const route = (spec: Partial<HttpRoute['spec']> = {}, parent: Partial<ParentReference> = {}, namespace = 'default'): HttpRoute => ({
  metadata: meta('r', namespace),
  spec: { parentRefs: [{ name: 'g', namespace: 'default', ...parent }], rules: [{ backendRefs: [{ name: 'web', port: 80 }] }], ...spec },
})

function evaluate(world: Partial<GatewayObjects>) {
  const certificate = certificateFor('a.example')
  const steps = evaluateGateways({
    ...{
      classes: [{ metadata: { name: 'ours' }, spec: { controllerName: 'typernetes.io/gateway-controller' } }],
      gateways: [],
      httpRoutes: [],
    },
    ...{ grpcRoutes: [], grants: [], addresses: ['10.0.0.1'], httpPort: 80, httpsPort: 443, now: '2026-01-02T00:00:00Z' },
    namespace: (name) => ({ metadata: { name, labels: { team: name } }, spec: {} }),
    service: (_namespace, name) => (name === 'web' ? aService('web') : undefined),
    certificate: (secret) => (secret.endsWith('/cert') ? certificate : undefined),
    ...{ problemOf: () => undefined, isOpen: () => true },
    ...world,
  })
  const evaluation = atOnce(steps)
  const text = (conditions: readonly V1Condition[] | undefined, type: string) => {
    const found = conditions?.find((each) => each.type === type)
    return found && `${found.status} ${found.reason}`
  }
  const [first] = evaluation.gateways
  return {
    ...{ evaluation, status: first?.status, sites: first?.source.sites ?? [] },
    gateway: (type: string) => text(first?.status.conditions, type),
    listener: (name: string, type: string) => text(first?.status.listeners?.find((each) => each.name === name)?.conditions, type),
    attached: (name = 'web') => first?.status.listeners?.find((each) => each.name === name)?.attachedRoutes,
    route: (type: string) => text(evaluation.routes[0]?.status.parents[0]?.conditions, type),
  }
}

for (const [own, asked, common] of [
  [undefined, undefined, ['']],
  [undefined, ['a.com'], ['a.com']],
  ['a.com', undefined, ['a.com']],
  ['a.com', ['a.com', 'b.com'], ['a.com']],
  ['*.com', ['a.com', 'b.org'], ['a.com']],
  ['*.com', ['*.a.com'], ['*.a.com']],
  ['a.b.com', ['*.com'], ['a.b.com']],
  ['*.a.com', ['a.com'], []],
  ['*.a.com', ['xa.com'], []],
] as const)
  test(`the listener's ${own ?? 'any'} and the route's ${asked?.join() ?? 'any'} have ${common.join() || (common.length ? 'any' : 'nothing')} in common`, () => {
    assert.deepEqual(commonHosts(own, asked), common)
  })

test('a Gateway with a route is accepted, programmed, and serves it', () => {
  const {
    gateway: said,
    listener: ofListener,
    route: ofRoute,
    attached,
    sites,
    status,
    evaluation,
  } = evaluate({
    ...{ gateways: [gateway(listener({ hostname: '*.example' }), secure())], httpRoutes: [route({ hostnames: ['a.example', 'b.org'] })] },
  })
  assert.deepEqual([said('Accepted'), said('Programmed')], ['True Accepted', 'True Programmed'])
  for (const name of ['web', 'tls'])
    assert.deepEqual(
      ['Accepted', 'Conflicted', 'ResolvedRefs', 'Programmed'].map((type) => ofListener(name, type)),
      ['True Accepted', 'False NoConflicts', 'True ResolvedRefs', 'True Programmed'],
    )
  assert.deepEqual(
    [ofRoute('Accepted'), ofRoute('ResolvedRefs'), attached('web'), attached('tls')],
    ['True Accepted', 'True ResolvedRefs', 1, 1],
  )
  assert.deepEqual(
    sites.map((site) => `${site.listener} ${site.listenerHost} ${site.host}`),
    ['http *.example a.example', 'https  a.example', 'https  b.org', 'http *.example *.example'],
  )
  assert.deepEqual(status?.addresses, [{ type: 'IPAddress', value: '10.0.0.1' }])
  assert.equal(status?.conditions?.[0]?.observedGeneration, 3)
  assert.deepEqual(
    status?.listeners?.[0]?.supportedKinds.map(({ kind }) => kind),
    ['HTTPRoute', 'GRPCRoute'],
  )
  assert.deepEqual(
    evaluation.listeners.map(({ listener: name, port }) => `${name} ${port}`),
    ['http 80', 'https 443'],
  )
  const names = evaluation.classes[0]?.status.supportedFeatures?.map(({ name }) => name) ?? []
  assert.deepEqual(names, [...names].sort())
})

describe('what is wrong with a listener', () => {
  test('protocols that are not spoken, ports that are wanted twice, kinds that are not known', () => {
    const tcp = evaluate({ gateways: [gateway(listener({ protocol: 'TCP' }))] })
    assert.deepEqual(
      [tcp.listener('web', 'Accepted'), tcp.gateway('Accepted'), tcp.gateway('Programmed')],
      ['False UnsupportedProtocol', 'False ListenersNotValid', 'False Invalid'],
    )
    const clash = evaluate({ gateways: [gateway(listener(), secure({ port: 80 }))] })
    assert.deepEqual(
      [clash.listener('web', 'Conflicted'), clash.listener('tls', 'Accepted')],
      ['True ProtocolConflict', 'False ProtocolConflict'],
    )
    const taken = evaluate({
      gateways: [gateway(listener(), secure({ port: 8080 })), { ...gateway(listener({ port: 8080 })), metadata: meta('z') }],
    })
    assert.match(JSON.stringify(taken.evaluation.gateways[1]?.status), /PortUnavailable/)
    const kinds = evaluate({
      gateways: [gateway(listener({ allowedRoutes: { kinds: [{ kind: 'TCPRoute' }, { kind: 'HTTPRoute' }] } }))],
      httpRoutes: [route()],
    })
    assert.deepEqual(
      [kinds.listener('web', 'ResolvedRefs'), kinds.attached(), kinds.status?.listeners?.[0]?.supportedKinds.length],
      ['False InvalidRouteKinds', 1, 1],
    )
  })

  test("certificates that are missing, or another namespace's without its leave", () => {
    const missing = evaluate({ gateways: [gateway(secure({ tls: { certificateRefs: [{ name: 'gone' }] } }))] })
    assert.deepEqual(
      [missing.listener('tls', 'ResolvedRefs'), missing.listener('tls', 'Programmed')],
      ['False InvalidCertificateRef', 'False Invalid'],
    )
    const foreign = gateway(secure({ tls: { certificateRefs: [{ name: 'cert', namespace: 'other' }] } }))
    assert.equal(evaluate({ gateways: [foreign] }).listener('tls', 'ResolvedRefs'), 'False RefNotPermitted')
    const grant = {
      metadata: meta('grant', 'other'),
      spec: {
        from: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'default' }],
        to: [{ group: '', kind: 'Secret', name: 'cert' }],
      },
    }
    assert.equal(evaluate({ gateways: [foreign], grants: [grant] }).listener('tls', 'ResolvedRefs'), 'True ResolvedRefs')
  })

  test('ports that cannot be had, and addresses that are not ours', () => {
    const closed = evaluate({ gateways: [gateway(listener())], isOpen: () => false, problemOf: () => 'port 80 is taken' })
    assert.deepEqual([closed.listener('web', 'Programmed'), closed.gateway('Programmed')], ['False Invalid', 'False Pending'])
    const asked = gateway(listener())
    asked.spec.addresses = [{ value: '9.9.9.9' }]
    assert.equal(evaluate({ gateways: [asked] }).gateway('Programmed'), 'False AddressNotUsable')
    asked.spec.addresses = [{ type: 'Hostname', value: 'x' }]
    assert.equal(evaluate({ gateways: [asked] }).gateway('Accepted'), 'False UnsupportedAddress')
    const tuned = gateway(listener())
    tuned.spec.infrastructure = { parametersRef: { group: 'example.org', kind: 'Tuning', name: 'fast' } }
    assert.equal(evaluate({ gateways: [tuned] }).gateway('Accepted'), 'False InvalidParameters')
  })
})

test('a Gateway that wants what another one has gets an address of its own, and keeps it', () => {
  const named = (name: string, address?: string) => {
    const made = gateway(listener())
    const status = address === undefined ? {} : { status: { addresses: [{ type: 'IPAddress', value: address }] } }
    return { ...made, metadata: { ...made.metadata, name }, ...status }
  }
  const spareAddresses = ['10.0.0.180', '10.0.0.181']
  const shown = (gateways: ReturnType<typeof named>[], spare = spareAddresses) =>
    evaluate({ gateways, spareAddresses: spare }).evaluation.gateways.map(({ status }) =>
      status.addresses?.map(({ value }) => value).join(),
    )
  const [first] = shown([named('a')])
  assert.deepEqual(shown([named('a'), named('b'), named('c', '10.0.0.180'), named('d')]), [first, '10.0.0.181', '10.0.0.180', first])
  assert.deepEqual(shown([named('a'), named('b')], []), [first, first])
  const { listeners } = evaluate({ gateways: [named('a'), named('b')], spareAddresses }).evaluation
  assert.deepEqual(
    listeners.map(({ listener: key, host }) => `${key} ${host ?? ''}`),
    ['http ', 'http@10.0.0.180 10.0.0.180'],
  )
})

describe('what is wrong with a route', () => {
  const said = (world: Partial<GatewayObjects>, type = 'Accepted') =>
    evaluate({ gateways: [gateway(listener({ hostname: 'a.com' }))], ...world }).route(type)

  test('listeners that are not there, not for it, or for other hosts', () => {
    assert.equal(said({ httpRoutes: [route({}, { sectionName: 'other' })] }), 'False NoMatchingParent')
    assert.equal(said({ httpRoutes: [route({}, { port: 81 })] }), 'False NoMatchingParent')
    assert.equal(said({ httpRoutes: [route({}, {}, 'elsewhere')] }), 'False NotAllowedByListeners')
    assert.equal(said({ httpRoutes: [route({ hostnames: ['b.com'] })] }), 'False NoMatchingListenerHostname')
    const selector = { matchLabels: { team: 'elsewhere' } }
    const chosen = gateway(listener({ allowedRoutes: { namespaces: { from: 'Selector', selector } } }))
    const inNamespace = { ...route({}, {}, 'elsewhere') }
    inNamespace.spec.rules = []
    assert.equal(said({ gateways: [chosen], httpRoutes: [inNamespace] }), 'True Accepted')
    assert.equal(said({ gateways: [chosen], httpRoutes: [route()] }), 'False NotAllowedByListeners')
  })

  test("backends that are not there, no services, or another namespace's without its leave", () => {
    const to = (backend: object) =>
      said({ httpRoutes: [route({ rules: [{ backendRefs: [backend as { name: string }] }] })] }, 'ResolvedRefs')
    assert.equal(to({ name: 'gone', port: 80 }), 'False BackendNotFound')
    assert.equal(to({ name: 'web', port: 81 }), 'False BackendNotFound')
    assert.equal(to({ name: 'web', port: 80, kind: 'Bucket' }), 'False InvalidKind')
    assert.equal(to({ name: 'web', port: 80, namespace: 'other' }), 'False RefNotPermitted')
    const { sites } = evaluate({
      gateways: [gateway(listener())],
      httpRoutes: [
        route({
          rules: [
            {
              backendRefs: [
                { name: 'gone', port: 80 },
                { name: 'web', port: 80, weight: 3 },
              ],
            },
          ],
        }),
      ],
    })
    assert.deepEqual(
      sites[0]?.routes[0]?.backends,
      [
        { backend: '', weight: 1 },
        { backend: 'default/web:80', weight: 3 },
      ],
      'its share of requests fails',
    )
  })

  test('what others say of a route stays, and what we said of it before goes when it is ours no more', () => {
    const other = { parentRef: { name: 'g2' }, controllerName: 'example.com/other', conditions: [] }
    const ours = { parentRef: { name: 'g' }, controllerName: 'typernetes.io/gateway-controller', conditions: [] }
    const mine = { ...route(), status: { parents: [other] } }
    const [evaluated] = evaluate({ gateways: [gateway(listener())], httpRoutes: [mine] }).evaluation.routes
    assert.deepEqual(
      evaluated?.status.parents.map(({ controllerName }) => controllerName),
      ['example.com/other', 'typernetes.io/gateway-controller'],
    )
    const left = { ...route({ parentRefs: [{ name: 'g2' }] }), status: { parents: [other, ours] } }
    assert.deepEqual(evaluate({ httpRoutes: [left] }).evaluation.routes[0]?.status.parents, [other])
    assert.deepEqual(evaluate({ httpRoutes: [{ ...left, status: { parents: [other] } }] }).evaluation.routes, [])
  })
})

test('rules become routes, with their filters, weights and times', () => {
  const rule: HttpRouteRule = {
    matches: [
      {
        path: { type: 'Exact', value: '/x' },
        method: 'POST',
        headers: [
          { name: 'A', value: '1' },
          { name: 'a', value: '2' },
        ],
        queryParams: [{ name: 'q', value: 'v', type: 'RegularExpression' }],
      },
      {},
    ],
    filters: [
      { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'S', value: '1' }], remove: ['R'] } },
      { type: 'URLRewrite', urlRewrite: { hostname: 'h', path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/p' } } },
      { type: 'RequestMirror', requestMirror: { backendRef: { name: 'web', port: 80 }, percent: 5 } },
    ],
    backendRefs: [{ name: 'web', port: 80, weight: 2 }],
    timeouts: { request: '1m30s', backendRequest: '500ms' },
  }
  const [first, second] = evaluate({ gateways: [gateway(listener())], httpRoutes: [route({ rules: [rule] })] }).sites[0]?.routes ?? []
  const { order, ...plain } = first ?? { order: '' }
  assert.deepEqual(plain, {
    ...{ name: 'HTTPRoute default/r', path: { type: 'Exact', value: '/x' }, method: 'POST' },
    headers: [{ type: 'Exact', name: 'A', value: '1' }],
    query: [{ type: 'RegularExpression', name: 'q', value: 'v' }],
    requestHeaders: [{ set: [['S', '1']], add: [], remove: ['R'] }],
    rewrite: { hostname: 'h', path: { type: 'ReplacePrefixMatch', value: '/p' } },
    mirrors: [{ backend: 'default/web:80', perMillion: 50_000 }],
    backends: [{ backend: 'default/web:80', weight: 2 }],
    timeouts: { requestMs: 90_000, backendRequestMs: 500 },
  })
  assert.deepEqual([second?.path, order < (second?.order ?? '')], [{ type: 'Prefix', value: '/' }, true])
})

test('methods of gRPC are paths, and their backends speak HTTP/2', () => {
  const grpc = (method: object): RouteOf<object> => ({
    metadata: meta('r'),
    spec: { parentRefs: [{ name: 'g' }], rules: [{ matches: [{ method }], backendRefs: [{ name: 'web', port: 80 }] }] },
  })
  const path = (method: object) => evaluate({ gateways: [gateway(listener())], grpcRoutes: [grpc(method)] }).sites[0]?.routes[0]
  assert.deepEqual(path({ service: 'p.S', method: 'M' })?.path, { type: 'Exact', value: '/p.S/M' })
  assert.deepEqual(path({ service: 'p.S' })?.path, { type: 'Prefix', value: '/p.S' })
  assert.deepEqual(path({ method: 'M.x' })?.path, { type: 'RegularExpression', value: '/[^/]+/M\\.x' })
  assert.equal(path({})?.backends[0]?.backend, 'default/web:80 h2c')
})

describe('what nobody may ask of the proxy', () => {
  const filtered = (filter: object) => route({ rules: [{ filters: [filter as never], backendRefs: [{ name: 'web', port: 80 }] }] })
  for (const [what, filter] of [
    ['the end of a line', { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'a', value: 'b\r\nc: d' }] } }],
    ['what becomes one', { type: 'ResponseHeaderModifier', responseHeaderModifier: { add: [{ name: 'a', value: 'b\u010d\u010ac' }] } }],
    [
      'a header that says where a message ends',
      { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'Content-Length', value: '1' }] } },
    ],
    ['a path with a space', { type: 'URLRewrite', urlRewrite: { path: { type: 'ReplaceFullPath', replaceFullPath: '/a HTTP/1.1' } } }],
    [
      'a path with the end of a line',
      { type: 'RequestRedirect', requestRedirect: { path: { type: 'ReplaceFullPath', replaceFullPath: '/\u010d\u010a' } } },
    ],
  ] as const)
    test(what, () => {
      const { route: said, sites } = evaluate({ gateways: [gateway(listener())], httpRoutes: [filtered(filter)] })
      assert.equal(said('Accepted'), 'False UnsupportedValue')
      const [served] = sites[0]?.routes ?? []
      assert.deepEqual(
        [served?.backends, served?.requestHeaders, served?.responseHeaders, served?.rewrite, served?.redirect],
        [[], ...Array(4).fill(undefined)],
      )
    })

  test('an expression that takes long to match', () => {
    const match = { path: { type: 'RegularExpression', value: '/(.{100}a){100}' } }
    const { route: said, sites } = evaluate({ gateways: [gateway(listener())], httpRoutes: [route({ rules: [{ matches: [match] }] })] })
    assert.deepEqual([said('Accepted'), sites[0]?.routes], ['False UnsupportedValue', []])
  })

  test('ports that the machine uses itself, and more than there are to give', () => {
    const ports = Array.from({ length: 70 }, (_, index) => listener({ name: `p${index}`, port: 10_000 + index }))
    const { listener: said, evaluation } = evaluate({ gateways: [gateway(listener(), listener({ name: 'own', port: 40_000 }), ...ports)] })
    assert.equal(said('own', 'Accepted'), 'False PortUnavailable')
    assert.deepEqual(
      [said('web', 'Accepted'), said('p63', 'Accepted'), said('p64', 'Accepted')],
      ['True Accepted', 'True Accepted', 'False PortUnavailable'],
    )
    assert.equal(evaluation.listeners.length, 65)
  })

  test('one route at more hosts of listeners than there is room for', () => {
    const listeners = Array.from({ length: 64 }, (_, index) => listener({ name: `l${index}`, hostname: `*.l${index}.example` }))
    const hostnames = Array.from({ length: 16 * 64 }, (_, index) => `h${index}.l${index % 64}.example`)
    const rules = [{ matches: Array.from({ length: 128 }, (_, index) => ({ path: { value: `/${index}` } })) }]
    const { route: said, sites } = evaluate({ gateways: [gateway(...listeners)], httpRoutes: [route({ hostnames, rules })] })
    assert.equal(said('Accepted'), 'False UnsupportedValue')
    assert.ok(sites.reduce((sum, { routes }) => sum + routes.length, 0) <= 16_384)
  })
})

test('a large route at a thousand sites is looked at once', () => {
  const listeners = Array.from({ length: 64 }, (_, index) => listener({ name: `l${index}`, hostname: `*.l${index}.example` }))
  const hostnames = Array.from({ length: 16 * 64 }, (_, index) => `h${index}.l${index % 64}.example`)
  const set = Array.from({ length: 250 }, (_, index) => ({ name: `h${index}`, value: 'v'.repeat(4096) }))
  const rules: HttpRouteRule[] = [{ filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set } }] }]
  const { evaluation, sites } = evaluate({ gateways: [gateway(...listeners)], httpRoutes: [route({ hostnames, rules })] })
  assert.equal(sites.length, 1024 + 64)
  const source = evaluation.gateways[0]?.source
  assert.ok(source)
  // As one text it would be longer than a text may be.
  assert.match(atOnce(fingerprintOfSource(source)), /^.{44}$/)
})
