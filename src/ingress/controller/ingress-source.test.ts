import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Ingress, V1IngressClass } from '#api/networking/v1/types.gen.ts'
import { atOnce } from '#base/steps.ts'
import { backendOfService } from '#ingress/controller/backend-of-service.ts'
import { isOurIngress } from '#ingress/controller/ingress-classes.ts'
import { ingressComplaints, ingressSource } from '#ingress/controller/ingress-source.ts'
import type { Site } from '#ingress/routing/route.ts'
import { RoutingTable } from '#ingress/routing/routing-table.ts'
import { anIngress, aService, aSlice, toService } from '#ingress/testing/objects.ts'

const sourceOf = (ingress: V1Ingress) => atOnce(ingressSource(ingress))

const path = (value: string, service: string, pathType = 'Prefix') => ({ path: value, pathType, backend: toService(service) })

function served(...ingresses: ReturnType<typeof anIngress>[]) {
  const table = new RoutingTable()
  const sites = new Map<string, Site>()
  for (const site of ingresses.flatMap((ingress) => sourceOf(ingress).sites)) {
    const key = `${site.listener} ${site.host}`
    sites.set(key, { ...site, routes: [...(sites.get(key)?.routes ?? []), ...site.routes] })
  }
  for (const site of sites.values()) table.set(site)
  return (url: string, listener = 'http') => {
    const [, host = '', target = '/'] = /^([^/]*)(.*)$/.exec(url) ?? []
    const route = table.find(listener, host, { method: 'GET', path: target, query: '', header: () => undefined })
    return route?.redirect === undefined ? route?.backends[0]?.backend.replace(/^default\/|:80$/g, '') : `redirect ${route.redirect.status}`
  }
}

test('rules lead by host and path, and what none of them matches goes to the default backend', () => {
  const ask = served(
    anIngress('a', {
      defaultBackend: toService('last'),
      rules: [
        { host: 'Foo.com', http: { paths: [path('/', 'root'), path('/x', 'exact', 'Exact'), path('/x', 'prefix')] } },
        { host: '*.bar.com', http: { paths: [path('/only', 'wild', 'ImplementationSpecific')] } },
      ],
    }),
  )
  assert.deepEqual(
    ['foo.com/', 'foo.com/x', 'foo.com/x/y', 'a.bar.com/only/1', 'a.bar.com/', 'other.com/'].map((url) => ask(url)),
    ['root', 'exact', 'prefix', 'wild', 'last', 'last'],
  )
  assert.equal(ask('foo.com/x', 'https'), 'exact')
})

test('of two that want the same the older one counts, and one with rules comes before one without', () => {
  const older = anIngress('b', { rules: [{ http: { paths: [path('/', 'older')] } }] })
  const newer = anIngress('a', { rules: [{ http: { paths: [path('/', 'newer')] } }] })
  newer.metadata.creationTimestamp = '2026-02-01T00:00:00Z'
  const catchAll = anIngress('c', { defaultBackend: toService('default') })
  assert.equal(served(newer, older, catchAll)('x/'), 'older')
})

test('plain requests are led to TLS where that is asked for', () => {
  const tls = [{ hosts: ['foo.com'], secretName: 's' }]
  const ask = served(
    anIngress(
      'a',
      { tls, rules: [{ host: 'foo.com', http: { paths: [path('/', 'web')] } }] },
      { 'ingress.typernetes.io/ssl-redirect': 'true' },
    ),
  )
  assert.deepEqual([ask('foo.com/'), ask('foo.com/', 'https')], ['redirect 308', 'web'])
})

test('certificates are for the hosts they name, else for those of the rules', () => {
  const rules = [{ host: 'a.com' }, { host: 'b.com' }]
  const { certificates } = sourceOf(
    anIngress('a', { rules, tls: [{ hosts: ['a.com'], secretName: 'one' }, { secretName: 'two' }, { hosts: ['c.com'] }] }),
  )
  assert.deepEqual(
    certificates.map(({ host, secret }) => `${host} ${secret}`),
    ['a.com default/one', 'a.com default/two', 'b.com default/two'],
  )
})

test('references that lead nowhere are complained of', () => {
  const ingress = anIngress('a', {
    tls: [{ hosts: ['a.com'], secretName: 'gone' }],
    rules: [
      {
        host: 'a.com',
        http: {
          paths: [
            path('/', 'there'),
            path('/b', 'nowhere'),
            { path: '/c', pathType: 'Prefix', backend: { resource: { kind: 'Bucket', name: 'b' } } },
          ],
        },
      },
    ],
  })
  const knows = {
    service: (_: string, name: string) => (name === 'there' ? { hasPort: () => false } : undefined),
    hasCertificate: () => false,
  }
  assert.deepEqual(
    ingressComplaints(sourceOf(ingress), knows).map(({ message }) => message.split(':')[0]?.split(' (')[0]),
    [
      'service "default/there" has no port 80',
      'service "default/nowhere" not found',
      'secret "default/gone" does not hold a certificate',
      'a backend is no service',
    ],
  )
})

test('an ingress is ours by its class, by the annotation of old, or by default', () => {
  const aClass = (name: string, controller: string, isDefault = false): V1IngressClass => ({
    metadata: { name, annotations: isDefault ? { 'ingressclass.kubernetes.io/is-default-class': 'true' } : {} },
    spec: { controller },
  })
  const ours = 'typernetes.io/ingress-controller'
  const classes = [aClass('typernetes', ours), aClass('nginx', 'k8s.io/ingress-nginx')]
  const named = (ingressClassName?: string, annotation?: string) =>
    isOurIngress(
      anIngress('a', ingressClassName ? { ingressClassName } : {}, annotation ? { 'kubernetes.io/ingress.class': annotation } : {}),
      classes,
    )
  assert.deepEqual(
    [named('typernetes'), named('nginx'), named('gone'), named(), named(undefined, 'typernetes'), named('typernetes', 'nginx')],
    [true, false, false, false, true, false],
  )
  assert.equal(isOurIngress(anIngress('a', {}), [aClass('x', ours, true)]), true)
})

test('requests go to endpoints that are ready; where there is none, to those that end but still answer', () => {
  const service = aService('web')
  const endpoints = (conditions: Parameters<typeof aSlice>[1], port: string | number = 80) =>
    backendOfService(service, [aSlice('web', conditions)], { port }).endpoints.map(({ host, port: at }) => `${host}:${at}`)
  const ending = { ready: false, serving: true, terminating: true }
  assert.deepEqual(endpoints({ '10.0.0.2': { ready: true }, '10.0.0.1': {}, '10.0.0.3': ending, '10.0.0.4': { ready: false } }), [
    '10.0.0.1:8080',
    '10.0.0.2:8080',
  ])
  assert.deepEqual(endpoints({ '10.0.0.3': ending, '10.0.0.4': { ready: false } }), ['10.0.0.3:8080'])
  assert.deepEqual(endpoints({ '10.0.0.1': {} }, 'http'), ['10.0.0.1:8080'])
  assert.deepEqual(endpoints({ '10.0.0.1': {} }, 81), [])
  assert.deepEqual(backendOfService({ ...service, spec: { type: 'ExternalName', externalName: 'x' } }, [], { port: 80 }).endpoints, [])
})

test("how a backend is spoken to is its port's word, and the ingress' before that", () => {
  const protocol = (appProtocol: string) => backendOfService(aService('web', [{ port: 80, appProtocol }]), [], { port: 80 }).protocol
  assert.deepEqual(['kubernetes.io/h2c', 'https', 'HTTPS', 'kubernetes.io/ws', 'mongo'].map(protocol), [
    'h2c',
    'https',
    'https',
    'http',
    'http',
  ])
  const ingress = anIngress('a', { defaultBackend: toService('web') }, { 'ingress.typernetes.io/backend-protocol': 'GRPC' })
  assert.deepEqual(
    sourceOf(ingress).backends.map((each) => each.protocol),
    ['h2c'],
  )
})

test('a large Ingress is translated in steps, and of what is wrong with it the first twenty are told', () => {
  const rules = Array.from({ length: 5000 }, (_, number) => ({ host: `h${number}.example`, http: { paths: [path('/', `web${number}`)] } }))
  const ingress = anIngress('large', { rules })
  let turns = 0
  for (const _step of ingressSource(ingress)) turns++
  assert.equal(turns, 10_000)
  const complaints = ingressComplaints(sourceOf(ingress), { service: () => undefined, hasCertificate: () => true })
  assert.equal(complaints.length, 20)
})
