/** Answers that clients and upstream's own tests rely on, each in a conversation of its own. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import { after, before, describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { type Ask, asker, bearer, type Credential, type Reply } from '../support/ask.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const accessReview = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  spec: { nonResourceAttributes: { path: '/', verb: 'get' } },
}
const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }

describe('answers as upstream gives them', { timeout: 600_000 }, () => {
  let cluster: RunningCluster
  let ask: Ask
  let admin: Credential
  let authority: string
  const get = (path: string, headers: Record<string, string> = {}) => ask(admin, 'GET', path, undefined, headers)
  const textOf = ({ body }: Reply) => String(body['answer'] ?? '')

  before(async () => {
    cluster = await startCluster(['--sim-nodes', '1'])
    authority = Buffer.from(
      /certificate-authority-data: (\S+)/.exec(readFileSync(cluster.kubeconfig, 'utf8'))?.[1] ?? '',
      'base64',
    ).toString()
    ask = asker(cluster.url, authority)
    admin = bearer(cluster.token)
  })
  after(async () => cluster[Symbol.asyncDispose]())

  for (const [what, path, body] of [
    ['an access review', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', accessReview],
    [
      'a self review',
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    ],
    [
      'a token request',
      '/api/v1/namespaces/default/serviceaccounts/default/token',
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    ],
  ] as const) {
    test(`${what} is never a table: 406, or the next form that the client takes`, async () => {
      const { status, body: refusal } = await ask(admin, 'POST', path, body, asTable)
      assert.equal(status, 406)
      assert.equal(refusal['reason'], 'NotAcceptable')
      const next = await ask(admin, 'POST', path, body, { accept: `${asTable.accept},application/json` })
      assert.deepEqual([next.status, next.body['kind']], [201, body.kind])
    })
  }

  test('a table is not given as protobuf', async () => {
    assert.equal((await get('/api/v1/pods', { accept: 'application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io' })).status, 406)
  })

  for (const path of ['/api/v1/namespaces', '/version', '/api/v1/namespaces/default/configmaps?limit=1']) {
    test(`a timeout that is no duration is refused: ${path}`, async () => {
      const { status, body } = await get(`${path}${path.includes('?') ? '&' : '?'}timeout=soon`)
      assert.equal(status, 400)
      assert.equal(body['message'], 'invalid timeout specified in the request URL - time: invalid duration "soon"')
      assert.equal((await ask({}, 'GET', `/version?timeout=soon`)).status, 400, 'whoever asks')
    })
  }

  test('watches have no timeout but timeoutSeconds', async () => {
    assert.equal((await get('/api/v1/namespaces?watch=1&fieldSelector=metadata.name=none&timeoutSeconds=1&timeout=soon')).status, 200)
  })

  for (const [path, others] of [
    ['livez', []],
    ['healthz', []],
    ['readyz', ['etcd-readiness', 'informer-sync', 'shutdown']],
  ] as const) {
    test(`/${path} lists upstream's checks`, async () => {
      const lines = textOf(await get(`/${path}?verbose`)).split('\n')
      for (const name of [...checkNames, ...others]) assert.ok(lines.includes(`[+]${name} ok`), name)
      assert.equal(lines.at(-2), `${path} check passed`)
      const alone = await Promise.all([...checkNames, ...others].map(async (name) => textOf(await get(`/${path}/${name}`))))
      assert.deepEqual([...new Set(alone)], ['ok'])
      assert.equal((await get(`/${path}/nope`)).status, 404)
      const excluding = textOf(await get(`/${path}?verbose&exclude=etcd&exclude=b&exclude=a`)).split('\n')
      assert.ok(excluding.includes('[+]etcd excluded: ok'))
      assert.ok(excluding.includes('warn: some health checks cannot be excluded: no matches for "a","b"'))
    })
  }

  test('the index names groups and health checks', async () => {
    const paths = (await get('/')).body['paths'] as string[]
    for (const path of ['/apis/apps', '/apis/apps/v1', '/livez/etcd', '/metrics/slis', '/readyz/shutdown'])
      assert.ok(paths.includes(path), path)
  })

  test('/metrics/slis counts health checks', async () => {
    await get('/livez')
    const lines = textOf(await get('/metrics/slis')).split('\n')
    assert.ok(lines.includes('kubernetes_healthcheck{name="etcd",type="livez"} 1'))
    assert.ok(lines.some((line) => /^kubernetes_healthchecks_total\{name="etcd",type="livez",status="success"\} [1-9]/.test(line)))
    assert.ok(lines.some((line) => line.startsWith('process_start_time_seconds ')))
  })

  test('what the server itself writes into a quota belongs to it', async () => {
    const quotas = '/api/v1/namespaces/default/resourcequotas'
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: { configmaps: '50' } } }
    assert.equal((await ask(admin, 'POST', quotas, quota)).status, 201)
    type Quota = { status?: { used?: object }; metadata: { managedFields: { manager: string; subresource?: string; fieldsV1: object }[] } }
    const read = async () => (await get(`${quotas}/q`)).body as unknown as Quota
    while ((await read()).status?.used === undefined);
    await ask(admin, 'POST', '/api/v1/namespaces/default/configmaps', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'counted' },
    })
    const { metadata } = await read()
    const entry = metadata.managedFields.find(({ manager }) => manager === 'kube-apiserver')
    assert.deepEqual([entry?.subresource, entry?.fieldsV1], ['status', { 'f:status': { 'f:used': { 'f:configmaps': {} } } }])
    assert.equal((await ask(admin, 'DELETE', `${quotas}/q`)).status, 200)
  })

  test('a pod that ends without grace says so in its last events', async () => {
    const pods = '/api/v1/namespaces/default/pods'
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'short' },
      spec: { nodeName: 'nowhere', containers: [{ name: 'a', image: 'a' }] },
    }
    const { body: created } = await ask(admin, 'POST', pods, pod)
    const { resourceVersion } = created['metadata'] as { resourceVersion: string }
    assert.equal((await ask(admin, 'DELETE', `${pods}/short`)).status, 200)
    assert.equal((await ask(admin, 'DELETE', `${pods}/short?gracePeriodSeconds=0`)).status, 200)
    const { body } = await get(`${pods}?watch=1&fieldSelector=metadata.name=short&timeoutSeconds=1&resourceVersion=${resourceVersion}`)
    const events = String(body['answer'])
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; object: { metadata: object } })
    assert.deepEqual(
      events.map(({ type, object: { metadata } }) => [
        type,
        (metadata as { deletionGracePeriodSeconds?: number }).deletionGracePeriodSeconds,
      ]),
      [
        ['MODIFIED', 30],
        ['MODIFIED', 0],
        ['DELETED', 0],
      ],
    )
  })

  test('storage version hashes are of the versions that upstream stores', async () => {
    const hashes = async (group: string) => {
      const { body } = await get(`/apis/${group}`)
      const resources = body['resources'] as { name: string; storageVersionHash?: string }[]
      return Object.fromEntries(resources.map(({ name, storageVersionHash }) => [name, storageVersionHash]))
    }
    assert.equal((await hashes('apiextensions.k8s.io/v1'))['customresourcedefinitions'], 'jfWCUB31mvA=')
    const admission = await hashes('admissionregistration.k8s.io/v1')
    assert.equal(admission['validatingwebhookconfigurations'], 'B0wHjQmsGNk=')
    assert.equal(admission['mutatingwebhookconfigurations'], 'Sqi0GUgDaX0=')
    const policy = createHash('sha256').update('admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy').digest()
    assert.equal(admission['mutatingadmissionpolicies'], policy.subarray(0, 8).toString('base64'))
  })

  test('a name that is too long for a ReplicationController is measured in bytes, that of others in characters', async () => {
    const spec = { selector: { a: 'b' }, template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'a', image: 'a' }] } } }
    const named = (kind: string, more: object) => ({ apiVersion: 'v1', kind, metadata: { name: 'n'.repeat(254) }, ...more })
    const refusal = async (plural: string, object: object) =>
      String((await ask(admin, 'POST', `/api/v1/namespaces/default/${plural}`, object)).body['message'])
    assert.match(await refusal('replicationcontrollers', named('ReplicationController', { spec })), /must be no more than 253 bytes/)
    assert.match(await refusal('configmaps', named('ConfigMap', {})), /must be no more than 253 characters/)
  })

  test('a resourceVersion on a new object is refused when admission has spoken', async () => {
    const configMap = (namespace: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x', namespace, resourceVersion: '1' },
    })
    const missing = await ask(admin, 'POST', '/api/v1/namespaces/missing/configmaps', configMap('missing'))
    assert.deepEqual([missing.status, missing.body['message']], [404, 'namespaces "missing" not found'])
    const refused = await ask(admin, 'POST', '/api/v1/namespaces/default/configmaps', configMap('default'))
    assert.deepEqual([refused.status, refused.body['message']], [500, 'resourceVersion should not be set on objects to be created'])
    const bad = { ...configMap('default'), metadata: { name: 'Not A Name', resourceVersion: '1' } }
    assert.equal((await ask(admin, 'POST', '/api/v1/namespaces/default/configmaps', bad)).status, 422)
  })

  test('an object too large for the store is 413, with the limit', async () => {
    const spec = { containers: Array.from({ length: 4 }, (_, index) => ({ name: `c${index}`, image: 'a', args: ['x'.repeat(450_000)] })) }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'large' }, spec }
    const { status, body } = await ask(admin, 'POST', '/api/v1/namespaces/default/pods', pod)
    assert.deepEqual(
      [status, body['reason'], body['message']],
      [413, 'RequestEntityTooLarge', 'Request entity too large: limit is 1572864'],
    )
  })

  test('a body that does not come in time is given up', async () => {
    const { hostname: host, port } = new URL(cluster.url)
    const socket = connectTls({ host, port: Number(port), ca: authority, ALPNProtocols: ['http/1.1'] })
    await once(socket, 'secureConnect')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', () => {})
    const head = `POST /api/v1/namespaces?timeout=2s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${cluster.token}\r\nContent-Length: 1000\r\n\r\n{`
    socket.write(head)
    await once(socket, 'close')
    assert.match(answer, /^HTTP\/1\.1 504 /)
    assert.match(answer, /"message":"Timeout: request did not complete within the allotted timeout"/)
  })

  test('a body that does not come in time is given up: HTTP/2', async () => {
    const session = http2.connect(cluster.url, { ca: authority })
    const headers = { ':method': 'POST', ':path': '/api/v1/namespaces?timeout=2s', authorization: `Bearer ${cluster.token}` }
    const stream = session.request(headers)
    stream.on('error', () => {})
    stream.write('{')
    const [answered] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    assert.equal(answered[':status'], 504)
    stream.resume()
    await once(stream, 'close')
    session.destroy()
  })

  test('half a megabyte of request line is read over HTTP/1.1, a hundred kilobytes of headers over HTTP/2', async () => {
    const path = `/api/v1/namespaces?fieldManager=${'x'.repeat(500_000)}`
    assert.equal((await get(path)).status, 200)
    const session = http2.connect(cluster.url, { ca: authority, maxSendHeaderBlockLength: 1 << 20 })
    const many = Object.fromEntries(Array.from({ length: 2 }, (_, index) => [`x-long-${index}`, 'x'.repeat(50_000)]))
    const stream = session.request({ ':path': '/version', ...many, authorization: `Bearer ${cluster.token}` })
    const [answered] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    assert.equal(answered[':status'], 200)
    session.destroy()
  })

  test('who has not said who they are gets one request a connection over HTTP/2', async () => {
    const session = http2.connect(cluster.url, { ca: authority })
    const stream = session.request({ ':path': '/livez' })
    stream.resume()
    const [answered] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    assert.equal(answered[':status'], 200)
    await once(session, 'close')
    const known = http2.connect(cluster.url, { ca: authority })
    for (let index = 0; index < 3; index++) {
      const request = known.request({ ':path': '/livez', authorization: `Bearer ${cluster.token}` })
      request.resume()
      await once(request, 'close')
    }
    assert.equal(known.closed, false)
    known.destroy()
  })
})

const checkNames = [
  'ping',
  'log',
  'etcd',
  ...[
    'start-apiserver-admission-initializer',
    'generic-apiserver-start-informers',
    'priority-and-fairness-config-consumer',
    'priority-and-fairness-filter',
    'storage-object-count-tracker-hook',
    'start-apiextensions-informers',
    'start-apiextensions-controllers',
    'crd-informer-synced',
    'start-system-namespaces-controller',
    'start-cluster-authentication-info-controller',
    'start-kube-apiserver-identity-lease-controller',
    'start-legacy-token-tracking-controller',
    'start-service-ip-repair-controllers',
    'rbac/bootstrap-roles',
    'scheduling/bootstrap-system-priority-classes',
    'priority-and-fairness-config-producer',
    'bootstrap-controller',
    'start-kubernetes-service-cidr-controller',
    'kube-apiserver-autoregistration',
    'apiservice-registration-controller',
    'apiservice-openapi-controller',
    'apiservice-openapiv3-controller',
  ].map((name) => `poststarthook/${name}`),
  'autoregister-completion',
]
