import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterTrust } from '#apiserver/delegation/cluster-trust.ts'
import { newAuthority } from '#apiserver/pki/authority.ts'
import { systemRandom } from '#base/random.ts'

test('the config map says whose certificates and headers are believed', () => {
  const pemOf = (name: 'ca' | 'front-proxy-ca') => newAuthority(name, Date.now(), systemRandom).authority.certificatePem
  const [clients, proxies, older] = [pemOf('ca'), pemOf('front-proxy-ca'), pemOf('front-proxy-ca')]
  const trust = clusterTrust({
    'client-ca-file': clients,
    'requestheader-client-ca-file': `${proxies}${older}`,
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  })
  assert.equal(trust.clients.length, 1)
  assert.equal(trust.proxies.anchors().length, 2)
  assert.equal(trust.proxies.anchors(), trust.proxies.anchors(), 'what was verified is remembered for the array')
  assert.deepEqual(trust.proxies.allowedNames, ['front-proxy-client'])
  assert.deepEqual(trust.proxies.uidHeaders, [])
  assert.deepEqual(trust.authorities, [clients, `${proxies}${older}`])
})

test('a cluster without a proxy believes no headers', () => {
  const { proxies, clients, authorities } = clusterTrust({})
  assert.deepEqual([proxies.anchors(), clients, authorities], [[], [], []])
})
