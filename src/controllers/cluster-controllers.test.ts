/** The controllers that look after the cluster itself: its ranges, its trust, what its nodes are told. */
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { ClusterTrustBundle, PodCertificateRequest } from '#api/certificates/v1beta1/kinds.gen.ts'
import { ConfigMap, Node, Secret, Service } from '#api/core/v1/kinds.gen.ts'
import { ServiceCIDR } from '#api/networking/v1/kinds.gen.ts'
import { newAuthority } from '#apiserver/pki/authority.ts'
import { seededRandom } from '#base/random.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import { faultyTransport } from '#testing/faulty-transport.ts'

const rough = { fails: 0.3, losesAnswer: 0.2, repeats: 0.1, delays: 0.2, cutsWatch: 0.1 }
const encoded = (fields: Record<string, string>) =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))

test('nodes are told to keep what they read the longer the more of them there are, without going to and fro', async () => {
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    controllers: ['ttl'],
    through: (transport, parts) => faultyTransport(transport, parts, rough),
  })
  let count = 0
  const grow = async (to: number) => {
    while (count < to) await cluster.create(Node, { metadata: { name: `n${++count}` }, spec: {} })
  }
  const shrink = async (to: number) => {
    while (count > to) await cluster.client.delete(Node, { name: `n${count--}` })
  }
  const reported = async () => {
    await cluster.advance({ minutes: 5 })
    // Kubelets change their nodes all the time, and that is when they are looked at.
    for (const { metadata } of await cluster.list(Node))
      await cluster.client.patch(Node, metadata, { metadata: { labels: { beat: String(cluster.clock.now()) } } })
    await cluster.advance({ minutes: 10 })
    return [...new Set((await cluster.list(Node)).map(({ metadata }) => metadata.annotations?.['node.alpha.kubernetes.io/ttl']))]
  }
  await grow(100)
  assert.deepEqual(await reported(), ['0'])
  await grow(101)
  assert.deepEqual(await reported(), ['15'])
  await shrink(90)
  assert.deepEqual(await reported(), ['15'])
  await shrink(89)
  assert.deepEqual(await reported(), ['0'])
})

const token = (id: string, more: Record<string, string> = {}) => ({
  metadata: { namespace: 'kube-system', name: `bootstrap-token-${id}` },
  type: 'bootstrap.kubernetes.io/token',
  data: encoded({ 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-signing': 'true', ...more }),
})

test('cluster-info is signed with every token that may, and with none that has gone or expired', async () => {
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    controllers: ['bootstrapsigner'],
    through: (transport, parts) => faultyTransport(transport, parts, rough),
  })
  const signatures = async () => {
    const { data = {} } = await cluster.get(ConfigMap, 'kube-public', 'cluster-info')
    return Object.keys(data).sort()
  }
  await cluster.create(Secret, token('aaaaaa'))
  await cluster.create(Secret, token('bbbbbb', { expiration: '2026-01-01T00:30:00Z' }))
  await cluster.create(Secret, token('cccccc', { 'usage-bootstrap-signing': 'false' }))
  await cluster.create(ConfigMap, {
    metadata: { namespace: 'kube-public', name: 'cluster-info' },
    data: { kubeconfig: 'the address', 'jws-kubeconfig-zzzzzz': 'forged' },
  })
  await cluster.advance({ minutes: 10 })
  assert.deepEqual(await signatures(), ['jws-kubeconfig-aaaaaa', 'jws-kubeconfig-bbbbbb', 'kubeconfig'])
  const { data = {} } = await cluster.get(ConfigMap, 'kube-public', 'cluster-info')
  const [header = '', content, signature] = (data['jws-kubeconfig-aaaaaa'] ?? '').split('.')
  assert.equal(Buffer.from(header, 'base64url').toString(), '{"alg":"HS256","kid":"aaaaaa"}')
  const signed = `${header}.${Buffer.from('the address').toString('base64url')}`
  assert.deepEqual([content, signature], ['', createHmac('sha256', '0123456789abcdef').update(signed).digest('base64url')])
  await cluster.advance({ minutes: 30 })
  assert.deepEqual(await signatures(), ['jws-kubeconfig-aaaaaa', 'kubeconfig'])
  await cluster.client.delete(Secret, { namespace: 'kube-system', name: 'bootstrap-token-aaaaaa' })
  await cluster.advance({ minutes: 10 })
  assert.deepEqual(await signatures(), ['kubeconfig'])
})

for (const [how, faults] of [
  ['', undefined],
  [', however often requests fail', rough],
] as const) {
  test(`a range of service addresses is protected, and goes only once no service needs it${how}`, async () => {
    await using cluster = await FakeCluster.start({
      withoutNodes: true,
      controllers: ['service-cidr-controller'],
      ...(faults === undefined ? {} : { through: (transport, parts) => faultyTransport(transport, parts, faults) }),
    })
    const range = (name: string, cidr: string) => cluster.create(ServiceCIDR, { metadata: { name }, spec: { cidrs: [cidr] } })
    const ready = async (name: string) => {
      const { status } = await cluster.get(ServiceCIDR, '', name)
      return status?.conditions?.map(({ type, status: value, reason }) => [type, value, reason])
    }
    await range('extra', '10.200.0.0/24')
    await cluster.advance({ minutes: 5 })
    assert.deepEqual((await cluster.get(ServiceCIDR, '', 'extra')).metadata.finalizers, ['networking.k8s.io/service-cidr-finalizer'])
    assert.deepEqual(await ready('extra'), [['Ready', 'True', '']])
    assert.deepEqual(await ready('kubernetes'), [['Ready', 'True', '']])
    const spec = { clusterIP: '10.200.0.7', ports: [{ port: 80 }] }
    await cluster.create(Service, { metadata: { namespace: 'default', name: 'web' }, spec })
    await cluster.client.delete(ServiceCIDR, { name: 'extra' })
    await cluster.advance({ minutes: 5 })
    assert.deepEqual(await ready('extra'), [['Ready', 'False', 'Terminating']])
    await assert.rejects(
      cluster.create(Service, { metadata: { namespace: 'default', name: 'more' }, spec: { ...spec, clusterIP: '10.200.0.8' } }),
    )
    await cluster.client.delete(Service, { namespace: 'default', name: 'web' })
    await cluster.advance({ minutes: 5 })
    assert.equal(await cluster.find(ServiceCIDR, '', 'extra'), undefined)
  })
}

test('a range goes, addresses or not, once another holds all of it', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: ['service-cidr-controller'] })
  await cluster.create(ServiceCIDR, { metadata: { name: 'small' }, spec: { cidrs: ['10.200.0.0/24'] } })
  await cluster.advance({ seconds: 1 })
  const spec = { clusterIP: '10.200.0.7', ports: [{ port: 80 }] }
  await cluster.create(Service, { metadata: { namespace: 'default', name: 'web' }, spec })
  await cluster.client.delete(ServiceCIDR, { name: 'small' })
  await cluster.advance({ minutes: 1 })
  assert.ok(await cluster.find(ServiceCIDR, '', 'small'))
  await cluster.create(ServiceCIDR, { metadata: { name: 'large' }, spec: { cidrs: ['10.200.0.0/16'] } })
  await cluster.advance({ seconds: 1 })
  assert.equal(await cluster.find(ServiceCIDR, '', 'small'), undefined)
  assert.ok(await cluster.find(ServiceCIDR, '', 'large'))
})

test('the grace of a range that nobody uses is ten seconds', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: ['service-cidr-controller'] })
  await cluster.create(ServiceCIDR, { metadata: { name: 'idle' }, spec: { cidrs: ['10.200.0.0/24'] } })
  await cluster.advance({ seconds: 1 })
  await cluster.client.delete(ServiceCIDR, { name: 'idle' })
  await cluster.advance({ seconds: 9 })
  assert.ok(await cluster.find(ServiceCIDR, '', 'idle'))
  await cluster.advance({ seconds: 2 })
  assert.equal(await cluster.find(ServiceCIDR, '', 'idle'), undefined)
})

const rootCa = newAuthority('ca', Date.parse('2026-01-01T00:00:00Z'), seededRandom(3)).authority.certificatePem
const oldCa = newAuthority('ca', Date.parse('2025-01-01T00:00:00Z'), seededRandom(4)).authority.certificatePem
const signerName = 'kubernetes.io/kube-apiserver-serving'

test("the authority of the API server is published as a trust bundle, and earlier ones' are removed", async () => {
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    featureGates: ['ClusterTrustBundle=true'],
    runtimeConfig: ['certificates.k8s.io/v1beta1/clustertrustbundles=true'],
    controllers: ['kube-apiserver-serving-clustertrustbundle-publisher-controller'],
    settings: { rootCa },
    through: (transport, parts) => faultyTransport(transport, parts, rough),
  })
  const bundles = async () => (await cluster.list(ClusterTrustBundle)).map(({ spec }) => spec.trustBundle)
  await cluster.advance({ minutes: 5 })
  assert.deepEqual(await bundles(), [rootCa])
  const [bundle] = await cluster.list(ClusterTrustBundle)
  assert.match(bundle?.metadata.name ?? '', /^kubernetes\.io:kube-apiserver-serving:[0-9a-f]{24}$/)
  await cluster.create(ClusterTrustBundle, {
    metadata: { name: 'kubernetes.io:kube-apiserver-serving:old' },
    spec: { signerName, trustBundle: oldCa },
  })
  await cluster.create(ClusterTrustBundle, { metadata: { name: 'mine' }, spec: { trustBundle: oldCa } })
  await cluster.client.delete(ClusterTrustBundle, { name: bundle?.metadata.name ?? '' })
  await cluster.advance({ minutes: 5 })
  assert.deepEqual(await bundles(), [rootCa, oldCa])
})

test('requests for certificates of pods go after a quarter of an hour', async () => {
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    featureGates: ['PodCertificateRequest=true'],
    runtimeConfig: ['certificates.k8s.io/v1beta1/podcertificaterequests=true'],
    controllers: ['podcertificaterequest-cleaner-controller'],
    through: (transport, parts) => faultyTransport(transport, parts, rough),
  })
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  await cluster.create(PodCertificateRequest, {
    metadata: { namespace: 'default', name: 'r' },
    spec: {
      signerName: 'example.com/s',
      podName: 'p',
      podUID: 'u',
      serviceAccountName: 's',
      serviceAccountUID: 'v',
      nodeName: 'n',
      nodeUID: 'w',
      maxExpirationSeconds: 86_400,
      pkixPublicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
      stubPKCS10Request: '',
      proofOfPossession: sign(null, Buffer.from('u'), privateKey).toString('base64'),
    },
  })
  await cluster.advance({ minutes: 14 })
  assert.ok(await cluster.find(PodCertificateRequest, 'default', 'r'))
  await cluster.advance({ minutes: 60 })
  assert.equal(await cluster.find(PodCertificateRequest, 'default', 'r'), undefined)
})

test('where the API server does not serve what some look at, these controllers hold up nobody', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: ['*'], settings: { rootCa }, keepsLog: true })
  const idle = cluster.log
    .filter(({ message }) => message.startsWith('controller is not needed'))
    .map(({ fields }) => fields?.['controller'])
  assert.deepEqual(idle, [
    'podcertificaterequest-cleaner-controller',
    'kube-apiserver-serving-clustertrustbundle-publisher-controller',
    'storageversion-garbage-collector-controller',
    'storage-version-migrator-controller',
    'resourcepoolstatusrequest-controller',
    'podgroup-protection-controller',
  ])
  assert.equal((await cluster.get(ConfigMap, 'default', 'kube-root-ca.crt')).data?.['ca.crt'], rootCa)
})
