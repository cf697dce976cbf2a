/** The controllers that look after the cluster itself, and add-ons that grow with it: each write of each of them goes wrong once. */
import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { ValidatingAdmissionPolicy } from '#api/admissionregistration/v1/kinds.gen.ts'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import { ClusterTrustBundle, PodCertificateRequest } from '#api/certificates/v1beta1/kinds.gen.ts'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { ConfigMap, Node, Pod, Secret, Service } from '#api/core/v1/kinds.gen.ts'
import { StorageVersion } from '#api/internal/v1alpha1/kinds.gen.ts'
import { ServiceCIDR } from '#api/networking/v1/kinds.gen.ts'
import { ResourceClaim, ResourceClaimTemplate, ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import { newAuthority } from '#apiserver/pki/authority.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { everyWriteFails, type Fault } from '#testing/every-write-fails.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import { signingRequest } from '#testing/signing-request.ts'

type Story = {
  title: string
  controllers: readonly string[]
  /** Their service accounts: those whose writes are to fail. */
  accounts: readonly string[]
  begin(cluster: FakeCluster): Promise<unknown>
  /** After that. */
  goOn?(cluster: FakeCluster): Promise<unknown>
  /** How it stands, in words that do not depend on names made at random. */
  seen(cluster: FakeCluster): Promise<unknown>
  /** Ten minutes after the beginning, and in the end. */
  expected: readonly [unknown, unknown]
}

const namespace = 'default'
const startMs = Date.parse('2026-01-01T00:00:00Z')
const { authority: ca, privateKeyPem } = newAuthority('ca', startMs, seededRandom(3))
const { authority: oldCa } = newAuthority('ca', startMs - 1000, seededRandom(4))
const signerName = 'kubernetes.io/kube-apiserver-client'
const authority = async () => ({ certificatePem: ca.certificatePem, privateKey: createPrivateKey(privateKeyPem) })
const signingAuthorities = { [signerName]: authority, 'kubernetes.io/kube-apiserver-client-kubelet': authority }
const encoded = (fields: Record<string, string>) =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))
const container = { name: 'main', image: 'a' }
const named = (objects: readonly { metadata: { name?: string } }[]) => objects.map(({ metadata }) => metadata.name).sort()

async function askForCertificates(cluster: FakeCluster) {
  const ask = (name: string, by: string, groups: string[], asked: { request: string; signerName: string; usages: string[] }) =>
    new Client({ transport: cluster.transportAs(by, [...groups, 'system:masters']), userAgent: 'test' }).create(CertificateSigningRequest, {
      metadata: { name },
      spec: asked,
    })
  const jane = { request: signingRequest({ commonName: 'jane' }), signerName, usages: ['client auth'] }
  for (const name of ['approved', 'denied', 'pending']) await ask(name, 'jane', [], jane)
  await ask('node', 'system:node:n1', ['system:nodes'], {
    request: signingRequest({ commonName: 'system:node:n1', organizations: ['system:nodes'] }),
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages: ['client auth', 'digital signature'],
  })
  for (const [name, type] of [
    ['approved', 'Approved'],
    ['denied', 'Denied'],
  ] as const) {
    const request = await cluster.get(CertificateSigningRequest, '', name)
    request.status = { ...request.status, conditions: [{ type, status: 'True', reason: 'Test', message: 'by hand' }] }
    await cluster.client.update(CertificateSigningRequest, request, { subresource: 'approval' })
  }
}

const bootstrapToken = (id: string, more: Record<string, string> = {}) => ({
  metadata: { namespace: 'kube-system', name: `bootstrap-token-${id}` },
  type: 'bootstrap.kubernetes.io/token',
  data: encoded({ 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-signing': 'true', ...more }),
})

const server = (id: string) => ({ apiServerID: id, encodingVersion: 'v1', decodableVersions: ['v1'] })

const requestsAnswered = ['approved: Approved signed', 'denied: Denied ', 'node: Approved signed', 'pending: undefined ']

const ofTheCluster: readonly Story[] = [
  {
    title: 'expressions of a policy are checked',
    controllers: ['validatingadmissionpolicy-status'],
    accounts: ['validatingadmissionpolicy-status-controller'],
    async begin(cluster) {
      const rule = { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] }
      const spec = { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'object.spec.strategi == 1' }] }
      await cluster.create(ValidatingAdmissionPolicy, { metadata: { name: 'p' }, spec })
      // Documents of the API are made when they are asked for, which takes the time of the machine.
      while ((await cluster.get(ValidatingAdmissionPolicy, '', 'p')).status?.observedGeneration === undefined) {
        await cluster.advance(5)
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    seen: async (cluster) =>
      (await cluster.get(ValidatingAdmissionPolicy, '', 'p')).status?.typeChecking?.expressionWarnings?.map(({ fieldRef }) => fieldRef),
    expected: [['spec.validations[0].expression'], ['spec.validations[0].expression']],
  },
  {
    title: 'approved requests are signed, and a node’s is approved',
    controllers: ['csrapproving', 'csrsigning'],
    accounts: ['certificate-controller'],
    begin: askForCertificates,
    seen: async (cluster) =>
      (await cluster.list(CertificateSigningRequest)).map(
        ({ metadata, status }) => `${metadata.name}: ${status?.conditions?.map(({ type }) => type)} ${status?.certificate ? 'signed' : ''}`,
      ),
    expected: [requestsAnswered, requestsAnswered],
  },
  {
    title: 'the authority of the API server is published, and an earlier one is not any more',
    controllers: ['kube-apiserver-serving-clustertrustbundle-publisher-controller'],
    accounts: ['kube-apiserver-serving-clustertrustbundle-publisher'],
    begin: (cluster) =>
      cluster.create(ClusterTrustBundle, {
        metadata: { name: 'kubernetes.io:kube-apiserver-serving:old' },
        spec: { signerName: 'kubernetes.io/kube-apiserver-serving', trustBundle: oldCa.certificatePem },
      }),
    seen: async (cluster) => (await cluster.list(ClusterTrustBundle)).map(({ spec }) => spec.trustBundle),
    expected: [[ca.certificatePem], [ca.certificatePem]],
  },
  {
    title: 'requests for certificates of pods go after a quarter of an hour',
    controllers: ['podcertificaterequest-cleaner-controller'],
    accounts: ['podcertificaterequestcleaner'],
    async begin(cluster) {
      const { publicKey, privateKey } = generateKeyPairSync('ed25519')
      const ids = { podName: 'p', podUID: 'u', serviceAccountName: 's', serviceAccountUID: 'v', nodeName: 'n', nodeUID: 'w' }
      const keys = {
        pkixPublicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
        stubPKCS10Request: '',
        proofOfPossession: sign(null, Buffer.from('u'), privateKey).toString('base64'),
      }
      await cluster.create(PodCertificateRequest, {
        metadata: { namespace, name: 'r' },
        spec: { signerName: 'example.com/s', ...ids, ...keys, maxExpirationSeconds: 86_400 },
      })
    },
    seen: async (cluster) => named(await cluster.list(PodCertificateRequest)),
    expected: [['r'], []],
  },
  {
    title: 'cluster-info is signed with the tokens there are, and those that expired go',
    controllers: ['bootstrapsigner', 'tokencleaner'],
    accounts: ['bootstrap-signer', 'token-cleaner'],
    async begin(cluster) {
      await cluster.create(Secret, bootstrapToken('aaaaaa'))
      await cluster.create(Secret, bootstrapToken('bbbbbb', { expiration: '2026-01-01T00:20:00Z' }))
      const metadata = { namespace: 'kube-public', name: 'cluster-info' }
      await cluster.create(ConfigMap, { metadata, data: { kubeconfig: 'the address', 'jws-kubeconfig-zzzzzz': 'forged' } })
    },
    async seen(cluster) {
      const secrets = named(await cluster.list(Secret, 'kube-system')).filter((name) => name?.startsWith('bootstrap-'))
      return [...Object.keys((await cluster.get(ConfigMap, 'kube-public', 'cluster-info')).data ?? {}).sort(), ...secrets]
    },
    expected: [
      ['jws-kubeconfig-aaaaaa', 'jws-kubeconfig-bbbbbb', 'kubeconfig', 'bootstrap-token-aaaaaa', 'bootstrap-token-bbbbbb'],
      ['jws-kubeconfig-aaaaaa', 'kubeconfig', 'bootstrap-token-aaaaaa'],
    ],
  },
  {
    title: 'nodes are told for how long to keep what they read',
    controllers: ['ttl'],
    accounts: ['ttl-controller'],
    begin: addNodes,
    seen: async (cluster) => (await cluster.list(Node)).map(({ metadata }) => metadata.annotations?.['node.alpha.kubernetes.io/ttl']),
    expected: [
      ['0', '0'],
      ['0', '0'],
    ],
  },
  {
    title: 'a range of service addresses is protected while it is used',
    controllers: ['service-cidr-controller'],
    accounts: ['service-cidrs-controller'],
    async begin(cluster) {
      await cluster.create(ServiceCIDR, { metadata: { name: 'extra' }, spec: { cidrs: ['10.200.0.0/24'] } })
      await cluster.advance({ minutes: 2 })
      const spec = { clusterIP: '10.200.0.7', ports: [{ port: 80 }] }
      await cluster.create(Service, { metadata: { namespace, name: 'web' }, spec })
      await cluster.client.delete(ServiceCIDR, { name: 'extra' })
    },
    goOn: (cluster) => cluster.client.delete(Service, { namespace, name: 'web' }),
    seen: async (cluster) =>
      (await cluster.list(ServiceCIDR)).map(
        ({ metadata, status }) => `${metadata.name}: ${status?.conditions?.map(({ reason }) => reason)}`,
      ),
    expected: [['extra: Terminating', 'kubernetes: '], ['kubernetes: ']],
  },
  {
    title: 'a pod gets the claim of its template, and its devices are free after it',
    controllers: ['resource-claim-controller'],
    accounts: ['resource-claim-controller'],
    async begin(cluster) {
      const devices = { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } }] }
      await cluster.create(ResourceClaimTemplate, { metadata: { namespace, name: 'gpus' }, spec: { spec: { devices } } })
      const pod = await cluster.create(Pod, {
        metadata: { namespace, name: 'busy' },
        spec: { nodeName: 'n1', containers: [container], resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpus' }] },
      })
      await cluster.until(async () => (await cluster.get(Pod, namespace, 'busy')).status?.resourceClaimStatuses !== undefined)
      const [made] = (await cluster.list(ResourceClaim, namespace)).filter(({ metadata }) => metadata.name?.startsWith('busy-'))
      assert.ok(made)
      made.metadata.finalizers = ['resource.kubernetes.io/delete-protection']
      const guarded = await cluster.client.update(ResourceClaim, made)
      const result = { request: 'gpu', driver: 'gpu.example.com', pool: 'p', device: 'd9' }
      const reservedFor = [{ resource: 'pods', name: 'busy', uid: pod.metadata.uid ?? '' }]
      await cluster.client.updateStatus(ResourceClaim, {
        ...guarded,
        status: { allocation: { devices: { results: [result] } }, reservedFor },
      })
    },
    async goOn(cluster) {
      const pod = await cluster.get(Pod, namespace, 'busy')
      await cluster.client.updateStatus(Pod, { ...pod, status: { ...pod.status, phase: 'Succeeded' } })
    },
    seen: async (cluster) =>
      (await cluster.list(ResourceClaim, namespace))
        .filter(({ metadata }) => metadata.name?.startsWith('busy-'))
        .map(({ status }) => [status?.allocation !== undefined, status?.reservedFor?.length ?? 0]),
    expected: [[[true, 1]], []],
  },
  {
    title: 'a pod whose device is tainted goes when its toleration ends',
    controllers: ['device-taint-eviction-controller'],
    accounts: ['device-taint-eviction-controller'],
    async begin(cluster) {
      const driver = 'gpu.example.com'
      const devices = { requests: [{ name: 'gpu', exactly: { deviceClassName: driver } }] }
      const claim = await cluster.create(ResourceClaim, { metadata: { namespace, name: 'tainted' }, spec: { devices } })
      const resourceClaims = [{ name: 'gpu', resourceClaimName: 'tainted' }]
      const spec = { nodeName: 'n1', containers: [container], resourceClaims }
      const pod = await cluster.create(Pod, { metadata: { namespace, name: 'tainted' }, spec })
      const tolerations = [{ key: 'lost', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1200 }]
      const results = [{ request: 'gpu', driver, pool: 'p', device: 'd1', tolerations }]
      const reservedFor = [{ resource: 'pods', name: 'tainted', uid: pod.metadata.uid ?? '' }]
      await cluster.client.updateStatus(ResourceClaim, { ...claim, status: { allocation: { devices: { results } }, reservedFor } })
      const taints = [{ key: 'lost', effect: 'NoExecute' }]
      const pool = { name: 'p', generation: 1, resourceSliceCount: 1 }
      await cluster.create(ResourceSlice, {
        metadata: { name: 's' },
        spec: { driver, nodeName: 'n1', pool, devices: [{ name: 'd1', taints }] },
      })
    },
    async seen(cluster) {
      const pod = await cluster.find(Pod, namespace, 'tainted')
      return pod === undefined || pod.metadata.deletionTimestamp !== undefined
    },
    expected: [false, true],
  },
  {
    title: 'what API servers that are gone said they store is forgotten',
    controllers: ['storage-version-gc'],
    accounts: ['storage-version-garbage-collector'],
    async begin(cluster) {
      const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' }
      for (const name of ['one', 'two']) await cluster.create(Lease, { metadata: { namespace: 'kube-system', name, labels }, spec: {} })
      for (const [name, ids] of [
        ['apps.deployments', ['one', 'two']],
        ['apps.replicasets', ['two']],
      ] as const) {
        const made = await cluster.create(StorageVersion, { metadata: { name }, spec: {}, status: {} })
        await cluster.client.updateStatus(StorageVersion, {
          ...made,
          status: { storageVersions: ids.map(server), commonEncodingVersion: 'v1' },
        })
      }
    },
    goOn: (cluster) => cluster.client.delete(Lease, { namespace: 'kube-system', name: 'two' }),
    seen: async (cluster) =>
      (await cluster.list(StorageVersion)).map(({ metadata, status }) => [
        metadata.name,
        status?.storageVersions?.map(({ apiServerID }) => apiServerID),
      ]),
    expected: [
      [
        ['apps.deployments', ['one', 'two']],
        ['apps.replicasets', ['two']],
      ],
      [['apps.deployments', ['one']]],
    ],
  },
]

async function addNodes(cluster: FakeCluster) {
  for (const name of ['n1', 'n2']) {
    const made = await cluster.create(Node, { metadata: { name }, spec: {} })
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Test', message: '' }]
    await cluster.client.updateStatus(Node, { ...made, status: { allocatable: { cpu: '4' }, conditions } })
  }
}

const slowly: readonly Story[] = [
  {
    title: 'a request that was denied goes after an hour, one that waits for its certificate stays',
    controllers: ['csrcleaner'],
    accounts: ['certificate-controller'],
    begin: askForCertificates,
    seen: async (cluster) => named(await cluster.list(CertificateSigningRequest)),
    expected: [
      ['approved', 'denied', 'node', 'pending'],
      ['approved', 'node', 'pending'],
    ],
  },
]

const ofAddOns: readonly Story[] = [
  {
    title: 'a container grows with the cluster',
    controllers: ['addon-resizer'],
    accounts: ['addon-resizer'],
    async begin(cluster) {
      await addNodes(cluster)
      const labels = { app: 'ms' }
      const annotations = { 'addon-resizer.typernetes.dev/main': 'cpu=100m extra-cpu=10m' }
      const template = { metadata: { labels }, spec: { containers: [container] } }
      await cluster.create(Deployment, {
        metadata: { namespace, name: 'ms', annotations },
        spec: { selector: { matchLabels: labels }, template },
      })
    },
    seen: async (cluster) => (await cluster.get(Deployment, namespace, 'ms')).spec?.template.spec?.containers[0]?.resources?.requests,
    expected: [{ cpu: '120m' }, { cpu: '120m' }],
  },
  {
    title: 'replicas grow with the cluster',
    controllers: ['cluster-proportional-autoscaler'],
    accounts: ['cluster-proportional-autoscaler'],
    async begin(cluster) {
      const labels = { app: 'dns' }
      const template = { metadata: { labels }, spec: { containers: [container] } }
      await cluster.create(Deployment, {
        metadata: { namespace, name: 'dns' },
        spec: { replicas: 1, selector: { matchLabels: labels }, template },
      })
      const annotations = { 'cluster-proportional-autoscaler.typernetes.dev/target': 'deployment/dns' }
      await cluster.create(ConfigMap, { metadata: { namespace, name: 'params', annotations }, data: { linear: '{"nodesPerReplica":1}' } })
    },
    seen: async (cluster) => (await cluster.get(Deployment, namespace, 'dns')).spec?.replicas,
    expected: [2, 2],
  },
]

/** All stories at once: in a telling, the n-th write of each service account goes wrong. */
const telling = (stories: readonly Story[], end: { minutes: number }) => async (fault: Fault) => {
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    featureGates: ['ClusterTrustBundle=true', 'PodCertificateRequest=true', 'StorageVersionAPI=true', 'DRADeviceTaintRules=true'],
    runtimeConfig: ['certificates.k8s.io/v1beta1=true', 'internal.apiserver.k8s.io/v1alpha1=true', 'resource.k8s.io/v1beta2=true'],
    controllers: stories.flatMap((story) => story.controllers),
    settings: { rootCa: ca.certificatePem, signingAuthorities },
    // Service accounts are made by the manager itself, in the same way for all.
    through: (transport, { account }) => (account === 'kube-controller-manager' ? transport : fault(transport, account)),
  })
  for (const { begin } of stories) await begin(cluster)
  await cluster.advance({ minutes: 10 })
  const early: unknown[] = []
  for (const { seen } of stories) early.push(await seen(cluster))
  for (const { goOn } of stories) await goOn?.(cluster)
  await cluster.advance(end)
  const ends: Record<string, [unknown, unknown]> = {}
  for (const [index, { title, seen }] of stories.entries()) ends[title] = [early[index], await seen(cluster)]
  return ends
}

for (const [who, stories, end] of [
  ['controllers of the cluster', ofTheCluster, { minutes: 15 }],
  ['those that wait for hours', slowly, { minutes: 200 }],
  ['add-ons that grow with it', ofAddOns, { minutes: 1 }],
] as const)
  test(`what ${who} bring about is the same, whichever of their writes is refused or lost`, async (t) => {
    const { writes, end: ends } = await everyWriteFails(telling(stories, end))
    for (const { title, expected, accounts } of stories) {
      assert.deepEqual(ends[title], expected, title)
      for (const account of accounts)
        assert.ok((writes.get(account) ?? 0) > 0, `${account} wrote nothing: ${[...writes.keys()].join(', ')}`)
    }
    t.diagnostic([...writes].map(([account, count]) => `${account} ${count}`).join(', '))
  })
