import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateSigningRequestResource } from '#api/certificates/v1/certificate-signing-request.ts'
import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const pem = `-----BEGIN CERTIFICATE REQUEST-----
MIGMMEACAQAwDTELMAkGA1UEAwwCZWQwKjAFBgMrZXADIQDMNdmWSpYY3iTwdjoT
0Fat7kFuWRflrUy1O1X8c8+Am6AAMAUGAytlcANBALHmUBbnp5Tiv80Fhu4JUUZ8
aXf1WO7Zoq9Fx85uLSP8FM6Z7T9uNui8vafWWdB5PfWtTaAZ0+D72PYjYXKrWgA=
-----END CERTIFICATE REQUEST-----
`
const base64 = (text: string) => Buffer.from(text).toString('base64')

const certificate = base64(`-----BEGIN CERTIFICATE-----
MIIBPjCB8aADAgECAhRyaREiADxDtiQ/GLgAEy5oSEmW3zAFBgMrZXAwDTELMAkG
A1UEAwwCY2EwHhcNMjYwMTAxMDAwMDAwWhcNMzYwMTAxMDAwMDAwWjANMQswCQYD
VQQDDAJjYTAqMAUGAytlcAMhAAjqEoXdRSKKJr4ALtrE0gSaX/8nsM6ljv79Gl7o
-----END CERTIFICATE-----
`)

const request = (spec: Partial<V1CertificateSigningRequest['spec']> = {}, change: object = {}): V1CertificateSigningRequest => ({
  metadata: { name: 'jane', resourceVersion: '1' },
  spec: { request: base64(pem), signerName: 'example.com/s', usages: ['client auth'], ...spec },
  ...change,
})

test('the server says who asks, and nobody asks with a status', () => {
  const forged = request(
    { username: 'root', groups: ['system:masters'] },
    { status: { conditions: [{ type: 'Approved', status: 'True' }] } },
  )
  const user = { name: 'jane', uid: '7', groups: ['dev'], extra: { scope: ['a'] } }
  const { object, errors } = tryCreate(certificateSigningRequestResource, forged, { user })
  assert.deepEqual(errors, [])
  const { username, uid, groups, extra } = object.spec
  assert.deepEqual(
    { username, uid, groups, extra, status: object.status },
    {
      username: 'jane',
      uid: '7',
      groups: ['dev'],
      extra: { scope: ['a'] },
      status: undefined,
    },
  )
})

test('requests are validated in the words clients know', () => {
  const garbage = base64('garbage')
  const forged = base64(pem.replace('WgA=', 'WgE='))
  const cases: [Partial<V1CertificateSigningRequest['spec']>, string[]][] = [
    [{}, []],
    [{ request: garbage }, [`spec.request: Invalid value: "${garbage}": PEM block type must be CERTIFICATE REQUEST`]],
    [{ request: '' }, ['spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST']],
    [{ request: forged }, [`spec.request: Invalid value: "${forged}": x509: Ed25519 verification failure`]],
    [{ usages: [] }, ['spec.usages: Required value']],
    [{ usages: ['client auth', 'client auth'] }, ['spec.usages[1]: Duplicate value: "client auth"']],
    [{ signerName: '' }, ['spec.signerName: Required value']],
    [
      { signerName: 'nodomain' },
      [`spec.signerName: Invalid value: "nodomain": must be a fully qualified domain and path of the form 'example.com/signer-name'`],
    ],
    [
      { signerName: 'kubernetes.io/legacy-unknown' },
      ['spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version'],
    ],
    [
      { expirationSeconds: 10 },
      ['spec.expirationSeconds: Invalid value: 10: may not specify a duration less than 600 seconds (10 minutes)'],
    ],
  ]
  for (const [spec, errors] of cases) assert.deepEqual(tryCreate(certificateSigningRequestResource, request(spec)).errors, errors)
  assert.match(
    tryCreate(certificateSigningRequestResource, request({ usages: ['fly'] })).errors[0] ?? '',
    /^spec\.usages\[0\]: Unsupported value: "fly": supported values: "any", "cert sign"/,
  )
})

test('only approval approves, and an approval is final', () => {
  const pending = request({}, { status: {} })
  const with_ = (...conditions: object[]) => ({ ...pending, status: { conditions } }) as V1CertificateSigningRequest
  const approved = { type: 'Approved', status: 'True', reason: 'r' }
  const denied = { type: 'Denied', status: 'True' }

  const done = tryUpdate(certificateSigningRequestResource, pending, with_(approved), { subresource: 'approval' })
  assert.deepEqual(done.errors, [])
  const [condition] = done.object.status?.conditions ?? []
  assert.deepEqual([condition?.lastUpdateTime, condition?.lastTransitionTime], ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'])

  assert.deepEqual(tryUpdate(certificateSigningRequestResource, pending, with_(approved), { subresource: 'status' }).errors, [
    'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
  ])
  assert.deepEqual(tryUpdate(certificateSigningRequestResource, done.object, with_(), { subresource: 'approval' }).errors, [
    'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
  ])
  assert.deepEqual(tryUpdate(certificateSigningRequestResource, pending, with_(approved, denied), { subresource: 'approval' }).errors, [
    'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
  ])
  assert.deepEqual(
    tryUpdate(certificateSigningRequestResource, pending, with_({ ...approved, status: 'False' }), { subresource: 'approval' }).errors,
    ['status.conditions[0].status: Unsupported value: "False": supported values: "True"'],
  )
  const renamed = { ...pending, spec: { ...pending.spec, usages: ['server auth'] } }
  assert.deepEqual(tryUpdate(certificateSigningRequestResource, pending, renamed).object.spec.usages, ['client auth'])
})

test('a certificate is set once, through the status', () => {
  const pending = request({}, { status: {} })
  const issued = (text: string) => ({ ...pending, status: { certificate: text } })
  const cases: [V1CertificateSigningRequest, string, string[]][] = [
    [pending, base64('x'), ['status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block']],
    [
      pending,
      base64(pem),
      ['status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"'],
    ],
    [pending, certificate, ['status.certificate: Invalid value: "<certificate data>": x509: malformed certificate']],
    [issued('eA=='), certificate, ['status.certificate: Forbidden: updates may not modify existing certificate content']],
  ]
  for (const [prev, text, errors] of cases) {
    assert.deepEqual(tryUpdate(certificateSigningRequestResource, prev, issued(text), { subresource: 'status' }).errors, errors)
  }
})

test('a row tells how far a request has come', () => {
  const conditions = [
    { type: 'Approved', status: 'True' },
    { type: 'Failed', status: 'True' },
  ]
  const row = tryRow(
    certificateSigningRequestResource,
    request({ expirationSeconds: 3600, username: 'u' }, { status: { conditions, certificate: 'eA==' } }),
  )
  assert.deepEqual([row['Requestor'], row['RequestedDuration'], row['Condition']], ['u', '60m', 'Approved,Failed,Issued'])
  assert.equal(tryRow(certificateSigningRequestResource, request())['Condition'], 'Pending')
})
