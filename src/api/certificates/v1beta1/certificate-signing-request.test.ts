import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateSigningRequestResource } from '#api/certificates/v1beta1/certificate-signing-request.ts'
import type { V1beta1CertificateSigningRequestSpec } from '#api/certificates/v1beta1/types.gen.ts'
import { tryCreateThrough } from '#api/testing/try-kind.ts'

/** Requests made by openssl for Ed25519 keys. */
const pem = (der: string): string => {
  const lines = der.match(/.{1,64}/g)?.join('\n')
  return Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`).toString('base64')
}
const ofNode = pem(
  'MIGvMGMCAQAwMDEVMBMGA1UECgwMc3lzdGVtOm5vZGVzMRcwFQYDVQQDDA5zeXN0ZW06bm9kZTpuMTAqMAUGAytlcAMhAMY6wQJGddXsj2hM/AMvH0YdwomW65wtw35WyMGJRpWuoAAwBQYDK2VwA0EAsH+DymsZyxPSvqsW5jh004q1ax+ymV22hxXMGJGM2UrKV8s2lkN0RC/oFr3cUpP1qcfOhHWlNODSzuJlwM/kDA==',
)
const ofNodeWithName = pem(
  'MIHQMIGDAgEAMDAxFTATBgNVBAoMDHN5c3RlbTpub2RlczEXMBUGA1UEAwwOc3lzdGVtOm5vZGU6bjEwKjAFBgMrZXADIQA+etknDXzwpwsVxvTS22i4DdJTBCuHxzhQ7nHno73fnqAgMB4GCSqGSIb3DQEJDjERMA8wDQYDVR0RBAYwBIICbjEwBQYDK2VwA0EAS25FYMhMjMys4VNodB1pF6bYS/rtKZ2zbsVXcI5JdLCG2tzYeo8wN66M/bb4TyUa3jloUSjVlyzD52L2GRxjCA==',
)
const ofJane = pem(
  'MIGOMEICAQAwDzENMAsGA1UEAwwEamFuZTAqMAUGAytlcAMhACUwNfXV5j0CKKW03VBdsZbDQJYARjIp3zm8zpqZcZjgoAAwBQYDK2VwA0EAe47zCmNXmXpsg2pTiZo2wQ+xXIoItkYyBajWFsyJ39dq6v29Z7B7Cg5ehxWu4DROfaTSRVuTquZYX0FJuxoUCQ==',
)
const client = ['digital signature', 'key encipherment', 'client auth']
const server = ['digital signature', 'server auth']

test('the signer follows from what is asked for', () => {
  const cases: [V1beta1CertificateSigningRequestSpec, string][] = [
    [{ request: ofNode, usages: client }, 'kubernetes.io/kube-apiserver-client-kubelet'],
    [{ request: ofNodeWithName, usages: server }, 'kubernetes.io/kubelet-serving'],
    [{ request: ofNode, usages: server }, 'kubernetes.io/legacy-unknown'],
    [{ request: ofNodeWithName, usages: client }, 'kubernetes.io/legacy-unknown'],
    [{ request: ofJane, usages: client }, 'kubernetes.io/legacy-unknown'],
    [{ request: ofNode }, 'kubernetes.io/legacy-unknown'],
    [{ request: ofNode, usages: client, signerName: 'example.com/own' }, 'example.com/own'],
  ]
  for (const [spec, signerName] of cases) {
    const { shown, errors } = tryCreateThrough(certificateSigningRequestResource, { metadata: { name: 'a' }, spec })
    assert.deepEqual([errors, shown.spec.signerName], [[], signerName])
    assert.deepEqual(shown.spec.usages, spec.usages ?? ['digital signature', 'key encipherment'])
  }
})

test('usages were not looked at', () => {
  const spec = { request: ofJane, usages: ['fly', 'fly'] }
  assert.deepEqual(tryCreateThrough(certificateSigningRequestResource, { metadata: { name: 'a' }, spec }).errors, [])
})
