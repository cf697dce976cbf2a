import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOnce } from '#base/steps.ts'
import { ProxyState, type Resolver } from '#ingress/controller/proxy-state.ts'
import { type BackendReference, backendKey, type CertificateReference, type Source } from '#ingress/controller/source.ts'
import type { ProxyUpdate } from '#ingress/data-plane/ingress-proxy.ts'
import { siteKey } from '#ingress/routing/route.ts'

const hostsOf = (secret: string, count: number): CertificateReference[] =>
  Array.from({ length: count }, (_, number) => ({ listener: 'https', host: `h${number}.example`, secret, order: '' }))

function stateOf() {
  const pairs = new Map([['a/cert', { cert: 'c'.repeat(50_000), key: 'key' }]])
  const state = new ProxyState()
  const resolver: Resolver = { backend: () => ({ protocol: 'http', endpoints: [] }), certificate: (secret) => pairs.get(secret) }
  const take = () => {
    const updates: ProxyUpdate[] = []
    atOnce(state.tell(resolver, (update) => updates.push(update)))
    return {
      updates,
      pairs: updates.flatMap((update) => update.pairs),
      certificates: updates.flatMap((update) => update.certificates),
      ...{
        removedPairs: updates.map((update) => update.removedPairs),
        removedCertificates: updates.flatMap((update) => update.removedCertificates),
      },
    }
  }
  return { state, pairs, take }
}

test('the pair of a secret is told once, however many hosts show it, and again when it is another', () => {
  const { state, pairs, take } = stateOf()
  atOnce(state.set('Ingress a/one', { sites: [], backends: [], certificates: hostsOf('a/cert', 3000) }))
  const first = take()
  assert.deepEqual([first.pairs.length, first.certificates.length], [1, 3000])
  assert.ok(JSON.stringify(first.updates).length < 500_000)

  atOnce(state.set('Ingress a/one', { sites: [], backends: [], certificates: hostsOf('a/cert', 3000) }))
  pairs.set('a/cert', { cert: 'c'.repeat(50_000), key: 'key' })
  state.secretChanged('a/cert')
  assert.deepEqual(take().updates, [], 'nothing is another')

  pairs.set('a/cert', { cert: 'next', key: 'key' })
  state.secretChanged('a/cert')
  const second = take()
  assert.deepEqual([second.pairs, second.certificates], [[['a/cert', { cert: 'next', key: 'key' }]], []])

  atOnce(state.set('Ingress a/two', { sites: [], backends: [], certificates: hostsOf('a/cert', 1) }))
  atOnce(state.delete('Ingress a/one'))
  const third = take()
  assert.deepEqual([third.removedCertificates.length, third.removedPairs.flat()], [2999, []])
  atOnce(state.delete('Ingress a/two'))
  assert.deepEqual(take().removedPairs, [['a/cert']])
})

/** As many hosts, each with a route to a service of its own. */
function hosts(count: number, service: string): Source {
  const backends = Array.from(
    { length: count },
    (_, number): BackendReference => ({ namespace: 'a', service: `${service}${number}`, port: 80 }),
  )
  const sites = backends.map((backend, number) => ({
    ...{ listener: 'http', listenerHost: '', host: `h${number}.example`, wildcard: 'label' as const },
    routes: [
      { name: 'r', order: '', path: { type: 'Prefix', value: '/' } as const, backends: [{ backend: backendKey(backend), weight: 1 }] },
    ],
  }))
  return { sites, backends, certificates: [] }
}

test('much is told in pieces, and no route leads to a backend that is not told yet, or taken away already', () => {
  const { state, take } = stateOf()
  const backends = new Set<string>()
  const sites = new Map<string, string>()
  const follow = (updates: readonly ProxyUpdate[]) => {
    for (const update of updates) {
      for (const [key] of update.backends) backends.add(key)
      for (const site of update.sites) sites.set(siteKey(site), site.routes[0]?.backends[0]?.backend ?? '')
      for (const key of update.removedSites) sites.delete(key)
      for (const key of update.removedBackends) backends.delete(key)
      for (const key of sites.values()) assert.ok(backends.has(key), key)
    }
  }
  atOnce(state.set('Ingress a/one', hosts(3000, 'first')))
  const first = take().updates
  assert.ok(first.length > 5)
  assert.ok(first.every((update) => update.sites.length + update.backends.length <= 1000))
  follow(first)
  atOnce(state.set('Ingress a/one', hosts(2000, 'second')))
  follow(take().updates)
  assert.deepEqual([sites.size, backends.size], [2000, 2000])
})

test('what is taken away and comes back while it is told is there afterwards', () => {
  const { state } = stateOf()
  const updates: ProxyUpdate[] = []
  const resolver: Resolver = { backend: () => ({ protocol: 'http', endpoints: [] }), certificate: () => undefined }
  const tell = () => state.tell(resolver, (update) => updates.push(update))
  atOnce(state.set('Ingress a/one', hosts(3, 'web')))
  atOnce(tell())
  atOnce(state.delete('Ingress a/one'))
  updates.length = 0
  const telling = tell()
  telling.next()
  atOnce(state.set('Ingress a/one', hosts(3, 'web')))
  atOnce(telling)
  const last = updates.at(-1)
  assert.deepEqual([last?.removedSites, last?.removedBackends, last?.sites.length], [[], [], 0])
})

test('a service that changes is the business of those alone who lead to it', () => {
  const { state } = stateOf()
  atOnce(state.set('Ingress a/one', hosts(2, 'web')))
  atOnce(state.set('Ingress a/two', { sites: [], backends: [], certificates: hostsOf('a/cert', 1) }))
  assert.deepEqual([...state.askersOfService('a/web1')], ['Ingress a/one'])
  assert.deepEqual([...state.askersOfService('a/other')], [])
  assert.deepEqual([...state.askersOfSecret('a/cert')], ['Ingress a/two'])
})

test('what is asked in place of something else is told in between too, and no host is without a route meanwhile', () => {
  const { state, take } = stateOf()
  atOnce(state.set('Ingress a/one', hosts(20, 'first')))
  take()
  let turns = 0
  for (const _step of state.set('Ingress a/one', hosts(20, 'second'))) {
    turns++
    for (const update of take().updates) assert.deepEqual(update.removedSites, [])
  }
  assert.ok(turns >= 60, String(turns))
  assert.equal(take().updates.at(-1)?.removedBackends.length ?? 0, 0, 'told already')
  assert.deepEqual([[...state.askersOfService('a/first3')], [...state.askersOfService('a/second3')]], [[], ['Ingress a/one']])
})
