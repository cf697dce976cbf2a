import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { secretResource } from '#api/core/v1/secret/secret.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { tryCreate, tryUpdate } from '#api/testing/try-kind.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const secret = (given: object): V1Secret => ({ metadata: { name: 'a', namespace: 'default', resourceVersion: '1' }, ...given })

test('text is kept as bytes, and what is written as text wins', () => {
  const { object } = tryCreate(secretResource, secret({ data: { a: base64('x'), b: base64('y') }, stringData: { b: 'é' } }))
  assert.deepEqual([object.type, object.data, object.stringData], ['Opaque', { a: 'eA==', b: 'w6k=' }, undefined])
})

test('each type has its keys', () => {
  const redacted = 'Invalid value: "<secret contents redacted>"'
  const cases: [string, object, string[]][] = [
    ['basic-auth', {}, ['data[username]: Required value', 'data[password]: Required value']],
    ['basic-auth', { password: base64('x') }, []],
    ['ssh-auth', {}, ['data[ssh-privatekey]: Required value']],
    ['tls', { 'tls.crt': '' }, ['data[tls.key]: Required value']],
    ['dockerconfigjson', {}, ['data[.dockerconfigjson]: Required value']],
    ['dockerconfigjson', { '.dockerconfigjson': base64('{') }, [`data[.dockerconfigjson]: ${redacted}: unexpected end of JSON input`]],
    [
      'dockerconfigjson',
      { '.dockerconfigjson': base64('[]') },
      [`data[.dockerconfigjson]: ${redacted}: json: cannot unmarshal array into Go value of type map[string]interface {}`],
    ],
    ['service-account-token', {}, ['metadata.annotations[kubernetes.io/service-account.name]: Required value']],
    ['anything-else', {}, []],
  ]
  for (const [type, data, errors] of cases)
    assert.deepEqual(tryCreate(secretResource, secret({ type: `kubernetes.io/${type}`, data })).errors, errors, type)
})

test('types never change, and immutable secrets not at all', () => {
  assert.deepEqual(tryUpdate(secretResource, secret({ type: 'a' }), secret({ type: 'b' })).errors, [
    'type: Invalid value: "b": field is immutable',
  ])
  const prev = secret({ type: 'a', immutable: true })
  assert.deepEqual(tryUpdate(secretResource, prev, secret({ type: 'a', immutable: true, data: { k: 'eA==' } })).errors, [
    'data: Forbidden: field is immutable when `immutable` is set',
  ])
})

test('certificates without their keys are warned of', () => {
  const warningsOf = (certificate: string, key: string) =>
    tryCreate(secretResource, secret({ type: 'kubernetes.io/tls', data: { 'tls.crt': base64(certificate), 'tls.key': base64(key) } }))
      .warnings
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  assert.deepEqual(warningsOf('', ''), ['tls: failed to find any PEM data in certificate input'])
  assert.deepEqual(warningsOf(key, key), [
    'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched',
  ])
  assert.deepEqual(warningsOf(pem, pem), ['tls: found a certificate rather than a key in the PEM for the private key'])
  assert.deepEqual(warningsOf(pem, ''), ['tls: failed to find any PEM data in key input'])
  assert.deepEqual(warningsOf(pem, key), ['x509: malformed certificate'])
})
