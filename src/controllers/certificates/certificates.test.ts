/** From a request to a certificate: approval, signing, and cleaning up afterwards. */
import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import type { V1CertificateSigningRequestSpec } from '#api/certificates/v1/types.gen.ts'
import { ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { newAuthority } from '#apiserver/pki/authority.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { keyUsagesOf } from '#controllers/certificates/key-usages.ts'
import { FakeCluster, type FakeClusterOptions } from '#testing/fake-cluster.ts'
import { faultyTransport } from '#testing/faulty-transport.ts'
import { type SigningRequestOptions, signingRequest } from '#testing/signing-request.ts'
import { readCertificate } from '#wire/x509/read-certificate.ts'

const startMs = Date.parse('2026-01-01T00:00:00Z')
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const { authority: ca, privateKeyPem } = newAuthority('ca', startMs, seededRandom(3))
const authority = async () => ({ certificatePem: ca.certificatePem, privateKey: createPrivateKey(privateKeyPem) })
const signers = ['kubelet-serving', 'kube-apiserver-client-kubelet', 'kube-apiserver-client', 'legacy-unknown']
const signingAuthorities = Object.fromEntries(signers.map((name) => [`kubernetes.io/${name}`, authority]))

const start = (options: FakeClusterOptions = {}) =>
  FakeCluster.start({ withoutNodes: true, controllers: ['csrsigning', 'csrapproving'], settings: { signingAuthorities }, ...options })

type Asked = Partial<V1CertificateSigningRequestSpec> & { of?: SigningRequestOptions; by?: string }

async function ask(cluster: FakeCluster, name: string, { of = { commonName: 'jane' }, by = 'jane', ...spec }: Asked = {}) {
  const client = new Client({ transport: cluster.transportAs(by, ['system:masters']), userAgent: 'test' })
  return client.create(CertificateSigningRequest, {
    metadata: { name },
    spec: { request: signingRequest(of), signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'], ...spec },
  })
}

async function decide(cluster: FakeCluster, name: string, type = 'Approved') {
  const request = await cluster.get(CertificateSigningRequest, '', name)
  request.status = { ...request.status, conditions: [{ type, status: 'True', reason: 'Test', message: 'by hand' }] }
  await cluster.client.update(CertificateSigningRequest, request, { subresource: 'approval' })
}

async function outcome(cluster: FakeCluster, name: string) {
  const { status } = await cluster.get(CertificateSigningRequest, '', name)
  const conditions = status?.conditions ?? []
  const pem = Buffer.from(status?.certificate ?? '', 'base64').toString()
  const certificate = pem === '' ? undefined : new X509Certificate(pem)
  return { conditions, certificate, fields: certificate === undefined ? undefined : readCertificate(certificate.raw) }
}

test('an approved request is signed; one that is pending or denied is not', async () => {
  await using cluster = await start()
  for (const name of ['approved', 'denied', 'pending'])
    await ask(cluster, name, { of: { commonName: 'jane', organizations: ['devs'], countries: ['DE'], uid: 'smuggled' } })
  await decide(cluster, 'approved')
  await decide(cluster, 'denied', 'Denied')
  await cluster.advance({ seconds: 1 })
  const { certificate, fields } = await outcome(cluster, 'approved')
  assert.ok(certificate)
  assert.ok(certificate.verify(ca.certificate.publicKey))
  assert.ok(certificate.checkIssued(ca.certificate))
  assert.deepEqual(
    [certificate.subject, certificate.ca, certificate.keyUsage],
    ['C=DE\nO=devs\nCN=jane', false, ['1.3.6.1.5.5.7.3.2']],
    'the uid is not passed on',
  )
  assert.deepEqual([fields?.notBeforeMs, fields?.notAfterMs], [startMs - 5 * minuteMs, startMs + 365 * dayMs - 5 * minuteMs])
  for (const name of ['denied', 'pending']) assert.equal((await outcome(cluster, name)).certificate, undefined, name)
})

const lives: { asked?: number; longestMs?: number; granted: number }[] = [
  { granted: 365 * dayMs - 5 * minuteMs },
  { asked: 600, granted: 10 * minuteMs },
  { asked: 7200, granted: 2 * hourMs },
  { asked: 8 * 3600, granted: 8 * hourMs - 5 * minuteMs },
  { asked: 8 * 3600, longestMs: hourMs, granted: hourMs },
  { longestMs: 20 * 365 * dayMs, granted: ca.notAfterMs - startMs },
]
for (const { asked, longestMs = 365 * dayMs, granted } of lives) {
  test(`of at most ${longestMs / 1000} seconds, ${asked ?? 'none'} asked for, a certificate lasts ${granted / 1000}`, async () => {
    await using cluster = await start({ settings: { signingAuthorities, signingDurationMs: longestMs } })
    await ask(cluster, 'jane', asked === undefined ? {} : { expirationSeconds: asked })
    await decide(cluster, 'jane')
    await cluster.advance(100)
    const { fields } = await outcome(cluster, 'jane')
    assert.equal((fields?.notAfterMs ?? 0) - startMs, granted)
  })
}

const node = { commonName: 'system:node:n1', organizations: ['system:nodes'] }
const client = ['client auth', 'digital signature']
const serving = ['server auth', 'digital signature', 'key encipherment']
const at = { dnsNames: ['n1'], ipAddresses: ['10.0.0.1'] }
const refusals: [string, string, Asked, string | undefined][] = [
  ['kube-apiserver-client', 'usages that are allowed', { usages: ['client auth', 'key encipherment', 'digital signature'] }, undefined],
  [
    'kube-apiserver-client',
    'another usage',
    { usages: ['client auth', 'server auth'] },
    'invalid usage for client certificate: server auth',
  ],
  ['kube-apiserver-client', 'no purpose', { usages: ['digital signature'] }, 'missing required usage for client certificate: client auth'],
  ['kube-apiserver-client-kubelet', 'a node', { of: node, usages: client }, undefined],
  ['kube-apiserver-client-kubelet', 'no node', { usages: client }, 'subject organization is not system:nodes'],
  [
    'kube-apiserver-client-kubelet',
    'another name',
    { of: { ...node, commonName: 'n1' }, usages: client },
    'subject common name does not begin with system:node:',
  ],
  [
    'kube-apiserver-client-kubelet',
    'a host name',
    { of: { ...node, subjectAltNames: { dnsNames: ['n1'] } }, usages: client },
    'DNS subjectAltNames are not allowed',
  ],
  [
    'kube-apiserver-client-kubelet',
    'an address',
    { of: { ...node, subjectAltNames: { ipAddresses: ['::1'] } }, usages: client },
    'IP subjectAltNames are not allowed',
  ],
  [
    'kube-apiserver-client-kubelet',
    'another purpose',
    { of: node, usages: serving },
    'usages did not match [client auth digital signature key encipherment]',
  ],
  ['kubelet-serving', 'a node', { of: { ...node, subjectAltNames: at }, usages: serving }, undefined],
  ['kubelet-serving', 'a node without names', { of: node, usages: serving }, 'DNS or IP subjectAltName is required'],
  [
    'kubelet-serving',
    'a URI',
    { of: { ...node, subjectAltNames: { ...at, uris: ['spiffe://x'] } }, usages: serving },
    'URI subjectAltNames are not allowed',
  ],
  [
    'kubelet-serving',
    'another purpose',
    { of: { ...node, subjectAltNames: at }, usages: client },
    'usages did not match [digital signature key encipherment server auth]',
  ],
]
for (const [signer, what, asked, message] of refusals) {
  test(`kubernetes.io/${signer}: ${what} ${message === undefined ? 'is signed' : 'fails for good'}`, async () => {
    await using cluster = await start()
    await ask(cluster, 'it', { signerName: `kubernetes.io/${signer}`, by: 'system:node:n1', ...asked })
    // That of a node may have been approved by itself.
    if ((await outcome(cluster, 'it')).conditions.length === 0) await decide(cluster, 'it').catch(() => undefined)
    await cluster.advance({ seconds: 1 })
    const { conditions, certificate } = await outcome(cluster, 'it')
    const failed = conditions.find(({ type }) => type === 'Failed')
    assert.deepEqual(
      [failed?.message, failed?.reason],
      message === undefined ? [undefined, undefined] : [message, 'SignerValidationFailure'],
    )
    assert.equal(certificate === undefined, message !== undefined)
    if (signer === 'kubelet-serving' && certificate !== undefined) assert.equal(certificate.subjectAltName, 'DNS:n1, IP Address:10.0.0.1')
  })
}

test('a signer without an authority of its own signs nothing', async () => {
  await using cluster = await start({ settings: { signingAuthorities: { 'kubernetes.io/legacy-unknown': authority } } })
  await ask(cluster, 'jane')
  await decide(cluster, 'jane')
  await cluster.advance({ minutes: 5 })
  assert.equal((await outcome(cluster, 'jane')).certificate, undefined)
})

test('usages come into the certificate once, in the order of their numbers; unknown ones are refused', () => {
  const usages = ['s/mime', 'email protection', 'client auth', 'signing', 'digital signature', 'any', 'decipher only']
  assert.deepEqual(keyUsagesOf(usages), {
    keyUsages: ['digitalSignature', 'decipherOnly'],
    extendedKeyUsages: ['any', 'clientAuth', 'emailProtection'],
  })
  assert.throws(() => keyUsagesOf(['any', 'toString', 'x']), { message: 'unrecognized usage values: ["toString" "x"]' })
})

test("a node's own renewal is approved by itself, and a node's first by who may ask for any; others wait for somebody", async () => {
  await using cluster = await start()
  const bind = (role: string, user: string) =>
    cluster.create(ClusterRoleBinding, {
      metadata: { name: `${role}-${user}`.replaceAll(':', '.') },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: `system:certificates.k8s.io:certificatesigningrequests:${role}`,
      },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    })
  const forNode = { of: node, usages: client, signerName: 'kubernetes.io/kube-apiserver-client-kubelet' }
  const asUser = async (name: string, user: string) => {
    await bind('nodeclient', `nobody-${name}`)
    const may = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-bootstrapper' }
    await cluster.create(ClusterRoleBinding, {
      metadata: { name },
      roleRef: may,
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    })
    const own = new Client({ transport: cluster.transportAs(user), userAgent: 'test' })
    const { of, ...spec } = forNode
    await own.create(CertificateSigningRequest, { metadata: { name }, spec: { request: signingRequest(of), ...spec } })
  }
  await bind('selfnodeclient', 'system:node:n1')
  await bind('nodeclient', 'bootstrap')
  await asUser('renewal', 'system:node:n1')
  await asUser('first', 'bootstrap')
  await asUser('stranger', 'somebody')
  await cluster.advance({ minutes: 1 })
  const approved = async (name: string) =>
    (await outcome(cluster, name)).conditions.map(({ type, reason, message }) => [type, reason, message])
  assert.deepEqual(await approved('renewal'), [
    ['Approved', 'AutoApproved', 'Auto approving self kubelet client certificate after SubjectAccessReview.'],
  ])
  assert.deepEqual(await approved('first'), [
    ['Approved', 'AutoApproved', 'Auto approving kubelet client certificate after SubjectAccessReview.'],
  ])
  assert.deepEqual(await approved('stranger'), [])
  assert.ok((await outcome(cluster, 'renewal')).certificate)
  await bind('nodeclient', 'somebody')
  await cluster.advance({ minutes: 30 })
  assert.ok((await outcome(cluster, 'stranger')).certificate, 'nobody looked again after it was allowed')
})

test('a certificate is signed with the authority as it is then; an authority that has expired signs nothing', async () => {
  const old = newAuthority('ca', startMs - 3650 * dayMs + hourMs, seededRandom(4))
  const recent = newAuthority('ca', startMs, seededRandom(5))
  let now = old
  const current = async () => ({ certificatePem: now.authority.certificatePem, privateKey: createPrivateKey(now.privateKeyPem) })
  await using cluster = await start({
    settings: { signingAuthorities: { 'kubernetes.io/kube-apiserver-client': current } },
    keepsLog: true,
  })
  await ask(cluster, 'early')
  await decide(cluster, 'early')
  await cluster.advance({ minutes: 1 })
  const { fields } = await outcome(cluster, 'early')
  assert.equal(fields?.notAfterMs, old.authority.notAfterMs, 'it ends with its authority')
  await cluster.advance({ hours: 2 })
  await ask(cluster, 'late')
  await decide(cluster, 'late')
  await cluster.advance({ minutes: 1 })
  assert.equal((await outcome(cluster, 'late')).certificate, undefined)
  assert.ok(cluster.log.some(({ fields }) => JSON.stringify(fields).includes('the signer has expired: NotAfter=')))
  now = recent
  await cluster.advance({ hours: 1 })
  assert.ok((await outcome(cluster, 'late')).certificate?.verify(recent.authority.certificate.publicKey))
})

test('however often requests fail, are repeated or lost: every approved request gets one certificate', async () => {
  const rates = { fails: 0.3, losesAnswer: 0.3, repeats: 0.2, delays: 0.3, cutsWatch: 0.1 }
  await using cluster = await start({ through: (transport, parts) => faultyTransport(transport, parts, rates) })
  const names = Array.from({ length: 12 }, (_, index) => `request-${index}`)
  for (const name of names) await ask(cluster, name)
  for (const name of names) await decide(cluster, name)
  const first = new Map<string, string>()
  for (let round = 0; round < 60; round++) {
    await cluster.advance({ seconds: 10 })
    for (const { metadata, status } of await cluster.list(CertificateSigningRequest)) {
      const { name = '' } = metadata
      const { certificate = '' } = status ?? {}
      if (certificate !== '') assert.equal(certificate, first.get(name) ?? first.set(name, certificate).get(name), `${name} changed`)
    }
  }
  assert.equal(first.size, names.length)
})

test('requests go an hour after they were answered, and a day after nobody did', async () => {
  await using cluster = await start({ controllers: ['csrsigning', 'csrcleaner'] })
  const names = async () => (await cluster.list(CertificateSigningRequest)).map(({ metadata }) => metadata.name).sort()
  await ask(cluster, 'issued', { expirationSeconds: 600 })
  await ask(cluster, 'denied')
  await ask(cluster, 'failed', { usages: ['any'] })
  await ask(cluster, 'pending')
  await ask(cluster, 'unissued', { signerName: 'example.com/other' })
  for (const name of ['issued', 'failed', 'unissued']) await decide(cluster, name)
  await decide(cluster, 'denied', 'Denied')
  await cluster.advance({ minutes: 59 })
  assert.deepEqual(await names(), ['denied', 'failed', 'issued', 'pending', 'unissued'])
  await cluster.advance({ hours: 2 })
  assert.deepEqual(await names(), ['pending', 'unissued'])
  await cluster.advance({ hours: 20 })
  assert.deepEqual(await names(), ['pending', 'unissued'])
  await cluster.advance({ hours: 3 })
  assert.deepEqual(await names(), [])
})

test('a request whose proof of possession is wrong is not even taken', async () => {
  await using cluster = await start()
  const asked = ask(cluster, 'thief', { of: { commonName: 'jane', hasBadSignature: true } })
  await assert.rejects(asked, /verification failure/)
})
