import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { clusterTrustBundleResource } from '#api/certificates/v1beta1/cluster-trust-bundle.ts'
import { podCertificateRequestResource } from '#api/certificates/v1beta1/pod-certificate-request.ts'
import type { V1beta1PodCertificateRequest, V1beta1PodCertificateRequestStatus } from '#api/certificates/v1beta1/types.gen.ts'
import { caBundleError } from '#api/meta/webhook-client.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'
import { encodePem } from '#wire/pem.ts'
import { encodedSubject, issueCertificate, keyIdentifier } from '#wire/x509/certificate.ts'

const now = '2026-01-02T03:04:05Z'
const hourMs = 3_600_000
const ed25519 = () => generateKeyPairSync('ed25519')
const authority = ed25519()
const signer = {
  subject: encodedSubject({ commonName: 'ca' }),
  privateKey: authority.privateKey,
  keyId: keyIdentifier(authority.publicKey),
}

function certificate(publicKey: KeyObject, { isCa = false, hours = 24 } = {}): string {
  const notBeforeMs = Date.parse(now)
  const content = {
    serialNumber: Uint8Array.of(1),
    subject: { commonName: 'x' },
    publicKey,
    notBeforeMs,
    notAfterMs: notBeforeMs + hours * hourMs,
    isCa,
  }
  return encodePem('CERTIFICATE', issueCertificate(content, signer))
}

test('a trust bundle holds authorities, each once, under a name its signer owns', () => {
  const root = certificate(authority.publicKey, { isCa: true })
  const bundle = (trustBundle: string, signerName = '', name = signerName === '' ? 'a' : `${signerName.replace('/', ':')}:a`) => ({
    metadata: { name, resourceVersion: '1' },
    spec: { signerName, trustBundle },
  })
  const at = 'spec.trustBundle: Invalid value: "<value omitted>":'
  const cases: [object, string[]][] = [
    [bundle(root), []],
    [bundle(root, 'example.com/s'), []],
    [
      bundle(root, 'example.com/s', 'a'),
      ['metadata.name: Invalid value: "a": ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:'],
    ],
    [
      bundle(root, '', 'a:b'),
      ['metadata.name: Invalid value: "a:b": ClusterTrustBundle without signer name must not have ":" in its name'],
    ],
    [bundle(''), [`${at} at least one trust anchor must be provided`]],
    [bundle(root + root), [`${at} duplicate trust anchor (indices [0 1])`]],
    [bundle(certificate(authority.publicKey)), [`${at} entry 0 does not have the CA bit set`]],
    [bundle(encodePem('CERTIFICATE', Uint8Array.of(1))), [`${at} entry 0 does not parse as X.509`]],
    [bundle(encodePem('KEY', Uint8Array.of(1))), [`${at} entry 0 has bad block type: KEY`]],
  ]
  for (const [object, errors] of cases)
    assert.deepEqual(tryCreate(clusterTrustBundleResource, object as ReturnType<typeof bundle>).errors, errors)
  const stored = bundle('not read any more')
  assert.deepEqual(tryUpdate(clusterTrustBundleResource, stored, stored).errors, [])
})

test('of thirty thousand wrong entries those are looked at that are told', () => {
  const trustBundle = encodePem('A', new Uint8Array()).repeat(30_000)
  const { errors } = tryCreate(clusterTrustBundleResource, { metadata: { name: 'a' }, spec: { trustBundle } })
  assert.ok(errors.length <= 1001, `${errors.length}`)
  assert.match(errors.at(-1) ?? '', /further errors are left out/)
})

test('a bundle of authorities needs one that is good, among a thousand', () => {
  const broken = encodePem('CERTIFICATE', Uint8Array.of(0x30, 0))
  const bundle = (count: number) => Buffer.from(broken.repeat(count) + certificate(authority.publicKey)).toString('base64')
  assert.equal(caBundleError(bundle(100)), undefined)
  assert.match(caBundleError(bundle(15_000)) ?? '', /malformed certificate/)
})

const pod = ed25519()
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

function request(
  change: Partial<V1beta1PodCertificateRequest['spec']> = {},
  status?: V1beta1PodCertificateRequestStatus,
): V1beta1PodCertificateRequest {
  return {
    metadata: { name: 'r', namespace: 'n', resourceVersion: '1' },
    spec: {
      signerName: 'example.com/s',
      podName: 'p',
      podUID: 'u',
      serviceAccountName: 's',
      serviceAccountUID: 'v',
      nodeName: 'n',
      nodeUID: 'w',
      maxExpirationSeconds: 86_400,
      pkixPublicKey: base64(pod.publicKey.export({ format: 'der', type: 'spki' })),
      proofOfPossession: base64(sign(null, Buffer.from('u'), pod.privateKey)),
      stubPKCS10Request: '',
      ...change,
    },
    ...(status && { status }),
  }
}

test('a pod proves that it holds the key it asks a certificate for', () => {
  const cases: [Partial<V1beta1PodCertificateRequest['spec']>, string[]][] = [
    [{}, []],
    [{ podUID: 'other' }, ['spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature']],
    [
      { podUID: '' },
      [
        'spec.podUID: Invalid value: "": must not be empty',
        'spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature',
      ],
    ],
    [{ maxExpirationSeconds: 10 }, ['spec.maxExpirationSeconds: Invalid value: 10: must be in the range [3600, 7862400]']],
    [
      { signerName: 'kubernetes.io/s', maxExpirationSeconds: 86_401 },
      ['spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]'],
    ],
    [
      { proofOfPossession: '' },
      ['spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set'],
    ],
    [
      { pkixPublicKey: '', proofOfPossession: '', stubPKCS10Request: 'eA==' },
      ['spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR'],
    ],
    [{ pkixPublicKey: 'eA==' }, ['spec.pkixPublicKey: Invalid value: "eA==": must be a valid PKIX-serialized public key']],
  ]
  for (const [change, errors] of cases) assert.deepEqual(tryCreate(podCertificateRequestResource, request(change)).errors, errors)
})

const condition = (type: string, status = 'True') => ({ type, status, reason: 'R', message: '', lastTransitionTime: now })

test('a request is issued, denied or failed, once', () => {
  const later = (hours: number) => new Date(Date.parse(now) + hours * hourMs).toISOString().replace('.000', '')
  const issued = (change: V1beta1PodCertificateRequestStatus = {}): V1beta1PodCertificateRequestStatus => ({
    conditions: [condition('Issued')],
    certificateChain: certificate(pod.publicKey),
    notBefore: now,
    notAfter: later(24),
    beginRefreshAt: later(12),
    ...change,
  })
  const cases: [string, V1beta1PodCertificateRequestStatus, V1beta1PodCertificateRequestStatus, string[]][] = [
    ['issued', {}, issued(), []],
    ['denied', {}, { conditions: [condition('Denied')] }, []],
    [
      'denied with a certificate',
      {},
      issued({ conditions: [condition('Denied')] }),
      ['status: Invalid value: non-condition status fields must be empty when denying or failing the PodCertificateRequest'],
    ],
    ['another key', {}, issued({ certificateChain: certificate(authority.publicKey) }), ['status.certificateChain: Invalid value: ']],
    [
      'no times',
      {},
      { conditions: [condition('Issued')], certificateChain: certificate(pod.publicKey) },
      [
        'status.notBefore: Required value: must be present and consistent with the issued certificate',
        'status.notAfter: Required value: must be present and consistent with the issued certificate',
        'status.beginRefreshAt: Required value: must be present and in the range [notbefore+10min, notafter-10min]',
      ],
    ],
    [
      'too late a refresh',
      {},
      issued({ beginRefreshAt: later(24) }),
      [`status.beginRefreshAt: Invalid value: "${later(24)}": must be at least 10 minutes before status.notAfter`],
    ],
    [
      'a short life',
      {},
      issued({ certificateChain: certificate(pod.publicKey, { hours: 0.5 }), notAfter: later(0.5) }),
      ['status.certificateChain: Invalid value: 1800000000000: leaf certificate lifetime must be >= 1 hour'],
    ],
    [
      'two outcomes',
      {},
      { conditions: [condition('Issued'), condition('Denied')] },
      ['status.conditions.[1].type: Invalid value: "Denied": There may be at most one condition with type "Issued", "Denied", or "Failed"'],
    ],
    [
      'no outcome',
      {},
      { certificateChain: 'x' },
      ['status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", or "Failed"'],
    ],
    [
      'a second thought',
      issued(),
      { conditions: [condition('Denied')] },
      ['status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed'],
    ],
  ]
  for (const [name, prev, next, errors] of cases) {
    const found = tryUpdate(podCertificateRequestResource, request({}, prev), request({}, next), { subresource: 'status', now }).errors
    assert.equal(found.length, errors.length, `${name}: ${found}`)
    for (const [index, error] of errors.entries()) assert.ok(found[index]?.startsWith(error), `${name}: ${found[index]}`)
  }
  assert.equal(tryRow(podCertificateRequestResource, request({}, issued()))['State'], 'Issued')
  assert.equal(tryRow(podCertificateRequestResource, request())['State'], 'Pending')
})
