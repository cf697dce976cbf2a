import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProxyState } from '#ingress/controller/proxy-state.ts'
import type { CertificateReference } from '#ingress/controller/source.ts'

const hostsOf = (secret: string, count: number): CertificateReference[] =>
  Array.from({ length: count }, (_, number) => ({ listener: 'https', host: `h${number}.example`, secret, order: '' }))

function stateOf() {
  const pairs = new Map([['a/cert', { cert: 'c'.repeat(50_000), key: 'key' }]])
  const state = new ProxyState()
  const take = () => state.takeUpdate({ backend: () => ({ protocol: 'http', endpoints: [] }), certificate: (secret) => pairs.get(secret) })
  return { state, pairs, take }
}

test('the pair of a secret is told once, however many hosts show it, and again when it is another', () => {
  const { state, pairs, take } = stateOf()
  state.set('Ingress a/one', { sites: [], backends: [], certificates: hostsOf('a/cert', 3000) })
  const first = take()
  assert.deepEqual([first?.pairs.length, first?.certificates.length], [1, 3000])
  assert.ok(JSON.stringify(first).length < 500_000)

  state.set('Ingress a/one', { sites: [], backends: [], certificates: hostsOf('a/cert', 3000) })
  pairs.set('a/cert', { cert: 'c'.repeat(50_000), key: 'key' })
  state.secretChanged('a/cert')
  assert.equal(take(), undefined, 'nothing is another')

  pairs.set('a/cert', { cert: 'next', key: 'key' })
  state.secretChanged('a/cert')
  const second = take()
  assert.deepEqual([second?.pairs, second?.certificates], [[['a/cert', { cert: 'next', key: 'key' }]], []])

  state.set('Ingress a/two', { sites: [], backends: [], certificates: hostsOf('a/cert', 1) })
  state.delete('Ingress a/one')
  assert.deepEqual([take()?.removedCertificates.length, take()?.removedPairs], [2999, undefined])
  state.delete('Ingress a/two')
  assert.deepEqual(take()?.removedPairs, ['a/cert'])
})
