import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getCiphers } from 'node:tls'
import { tlsLimitsOf } from '#kubelet/configuration/tls-limits.ts'

test('versions and cipher suites are known by the names that documents of Kubernetes use', () => {
  assert.deepEqual(tlsLimitsOf({ tlsMinVersion: '', tlsCipherSuites: [] }), { minVersion: 'TLSv1.2' })
  const tlsCipherSuites = ['TLS_AES_128_GCM_SHA256', 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305']
  const { minVersion, ciphers = '' } = tlsLimitsOf({ tlsMinVersion: 'VersionTLS13', tlsCipherSuites })
  assert.equal(minVersion, 'TLSv1.3')
  const chosen = ciphers.split(':')
  assert.deepEqual(chosen.slice(-2), ['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305'])
  for (const cipher of chosen) assert.ok(getCiphers().includes(cipher.toLowerCase()), cipher)
})
