/** An extension API server behind a running cluster: found, described and reached through it, and done without while it is down. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect } from 'node:tls'
import { testAuthority } from '../contracts/certificates.ts'
import { type Ask, asker, bearer, type Reply, whoIs } from '../support/ask.ts'
import { type ExtensionServer, startExtensionServer } from '../support/extension-server.ts'
import { installedKubectls, kubectlBeside } from '../support/kubectl.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const root = bearer('test-token')
const group = 'extension.example.com'
const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices'
const widgets = `/apis/${group}/v1/namespaces/default/widgets`
let cluster: RunningCluster
let extension: ExtensionServer
let authority: string
let ask: Ask

before(async () => {
  cluster = await startCluster()
  authority = readFileSync(join(cluster.directory, 'data', 'pki', 'ca.crt'), 'utf8')
  ask = asker(cluster.url, authority)
  const { data } = (await asRoot('GET', '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication')) as {
    data: Record<string, string>
  }
  extension = await startExtensionServer(['extension.default.svc'], group, {
    authority: data['requestheader-client-ca-file'] ?? '',
    allowedNames: JSON.parse(data['requestheader-allowed-names'] ?? '[]') as string[],
  })
})
after(async () => {
  await cluster?.[Symbol.asyncDispose]()
  await extension?.[Symbol.asyncDispose]()
})

async function asRoot(method: string, path: string, body?: object): Promise<Reply['body']> {
  const reply = await ask(root, method, path, body)
  assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
  return reply.body
}

type Condition = { type: string; status: string; reason: string; message: string }

async function condition(): Promise<Condition | undefined> {
  const { status } = (await asRoot('GET', `${apiServices}/v1.${group}`)) as { status?: { conditions?: Condition[] } }
  return status?.conditions?.find(({ type }) => type === 'Available')
}

/** Waits for what the cluster is told by itself; the test's own time limit is the only one. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** What went before may still be told of: a look that began then, or one that had to wait too long for its answer. */
const told = (reason: string, message?: string) =>
  until(async () => {
    const found = await condition()
    return found?.reason === reason && (message === undefined || found.message === message) ? found : undefined
  })

/** Meanwhile the cluster has questions of its own, too. */
const lastSeen = (server: ExtensionServer, method: string, url: string) =>
  server.seen.findLast((each) => each.method === method && each.url === url)

const apiService = () => ({
  metadata: { name: `v1.${group}` },
  spec: {
    group,
    version: 'v1',
    service: { namespace: 'default', name: 'extension', port: 8443 },
    caBundle: extension.caBundle,
    groupPriorityMinimum: 2000,
    versionPriority: 200,
  },
})
const endpointSlice = () => ({
  metadata: { name: 'extension-1', labels: { 'kubernetes.io/service-name': 'extension' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: [extension.address] }],
  ports: [{ name: 'https', port: extension.port }],
})

test('the condition tells step by step what is missing, until all checks pass', { timeout: 240_000 }, async () => {
  await asRoot('POST', apiServices, apiService())
  await told('ServiceNotFound', 'service/extension in "default" is not present')
  const down = await ask(root, 'GET', widgets)
  assert.deepEqual([down.status, down.body], [503, { answer: 'service unavailable\n' }])
  await asRoot('POST', '/api/v1/namespaces/default/services', {
    metadata: { name: 'extension' },
    spec: { ports: [{ name: 'web', port: 80 }] },
  })
  await told('ServicePortError', 'service/extension in "default" is not listening on port 8443')
  const service = (await asRoot('GET', '/api/v1/namespaces/default/services/extension')) as { spec: { ports: object[] } }
  service.spec.ports = [{ name: 'https', port: 8443 }]
  await asRoot('PUT', '/api/v1/namespaces/default/services/extension', service)
  await told('EndpointsNotFound', 'cannot find endpointslices for service/extension in "default"')
  const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
  await asRoot('POST', slices, { ...endpointSlice(), endpoints: [] })
  await told('MissingEndpoints', 'endpointslices for service/extension in "default" have no addresses with port name "https"')
  extension.misbehaves = (_, response) => response.writeHead(500).end()
  const slice = await asRoot('GET', `${slices}/extension-1`)
  await asRoot('PUT', `${slices}/extension-1`, { ...slice, endpoints: endpointSlice().endpoints })
  const url = `https://${extension.address}:${extension.port}/apis/${group}/v1`
  await told('FailedDiscoveryCheck', `failing or missing response from ${url}: bad status from ${url}: 500`)
  extension.misbehaves = undefined
  assert.equal((await told('Passed', 'all checks passed')).status, 'True')
})

test('requests arrive as they are, in the name of who asked, with the certificate of the cluster', async () => {
  const created = await asRoot('POST', widgets, {
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    metadata: { name: 'one' },
    spec: { colour: 'red' },
  })
  assert.equal((created['metadata'] as { uid: string }).uid.startsWith('uid-'), true)
  const last = lastSeen(extension, 'POST', widgets)
  assert.equal(last?.commonName, 'front-proxy-client')
  assert.equal(last?.headers['x-remote-user'], 'admin')
  assert.equal(last?.headers['x-remote-group'], 'system:masters, system:authenticated')
  assert.equal(last?.headers['authorization'], undefined)
  const pretended = {
    ...root,
    headers: {
      ...root.headers,
      'Impersonate-User': 'jane',
      'Impersonate-Group': 'devs',
      'Impersonate-Extra-a%2fb': 'c',
      'X-Remote-User': 'mallory',
    },
  }
  await asRoot('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'widgets' },
    rules: [{ apiGroups: [group], resources: ['widgets'], verbs: ['list'] }],
  })
  assert.equal((await ask(pretended, 'GET', widgets)).status, 403)
  await asRoot('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'widgets' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'widgets' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
  })
  const listed = await ask(pretended, 'GET', `${widgets}?limit=5&labelSelector=a%3Db`)
  assert.equal(listed.status, 200)
  const asJane = lastSeen(extension, 'GET', `${widgets}?limit=5&labelSelector=a%3Db`)
  assert.equal(asJane?.headers['x-remote-user'], 'jane')
  assert.equal(asJane?.headers['x-remote-extra-a%2fb'] ?? asJane?.headers['x-remote-extra-a%2Fb'], 'c')
  assert.equal(asJane?.headers['impersonate-user'], undefined)
})

test('nobody gets to the extension server with headers alone', async () => {
  const options = { headers: { 'x-remote-user': 'admin' }, rejectUnauthorized: false }
  const status = await new Promise((resolve, reject) => {
    const url = `https://${extension.address}:${extension.port}${widgets}`
    request(url, options, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })
  assert.equal(status, 401)
})

test('discovery tells of it in both forms, by its priority', async () => {
  const accept = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' }
  type Found = { metadata: { name: string }; versions: { version: string; freshness: string; resources?: { resource: string }[] }[] }
  const entry = await until(async () => {
    const { body } = await ask(root, 'GET', '/apis', undefined, accept)
    const items = body['items'] as Found[]
    const found = items.find(({ metadata }) => metadata.name === group)
    return found?.versions[0]?.freshness === 'Current' ? { found, items } : undefined
  })
  assert.equal(entry.found.versions[0]?.resources?.[0]?.resource, 'widgets')
  const names = entry.items.map(({ metadata }) => metadata.name)
  assert.ok(names.indexOf('apps') < names.indexOf(group) && names.indexOf(group) < names.indexOf('settings.k8s.io'), names.join())
  const { groups } = (await asRoot('GET', '/apis')) as { groups: { name: string; preferredVersion: { groupVersion: string } }[] }
  assert.equal(groups.find(({ name }) => name === group)?.preferredVersion.groupVersion, `${group}/v1`)
  assert.equal((await asRoot('GET', `/apis/${group}`))['kind'], 'APIGroup')
  const { resources } = (await asRoot('GET', `/apis/${group}/v1`)) as { resources: { name: string }[] }
  assert.deepEqual(
    resources.map(({ name }) => name),
    ['widgets'],
  )
})

test('its OpenAPI documents are among the others', async () => {
  const index = await until(async () => {
    const { paths } = (await asRoot('GET', '/openapi/v3')) as { paths: Record<string, { serverRelativeURL: string }> }
    return paths[`apis/${group}/v1`]
  })
  const v3 = (await asRoot('GET', index.serverRelativeURL)) as { components: { schemas: object } }
  assert.deepEqual(Object.keys(v3.components.schemas), ['com.example.v1.Widget'])
  const v2 = (await asRoot('GET', '/openapi/v2')) as { paths: object; definitions: object }
  assert.ok(`/apis/${group}/v1/widgets` in v2.paths)
  assert.ok('com.example.v1.Widget' in v2.definitions)
  assert.ok('io.k8s.api.core.v1.Pod' in v2.definitions)
  assert.ok(!('/apis/other.example.com/v1/' in v2.paths))
})

test('watches stream, and connections may change their protocol', { timeout: 240_000 }, async () => {
  const opened = (lines: string[], first: string) =>
    new Promise<ReturnType<typeof connect>>((resolve) => {
      const url = new URL(cluster.url)
      const socket = connect({ host: url.hostname, port: Number(url.port), ca: authority, ALPNProtocols: ['http/1.1'] }, () => {
        socket.write(lines.join('\r\n'))
      })
      let text = ''
      socket.on('error', () => {})
      socket.on('data', (piece) => {
        text += String(piece)
        if (text.includes(first)) resolve(Object.assign(socket, { heard: () => text }))
      })
    })
  const head = (target: string, ...more: string[]) => [
    `GET ${target} HTTP/1.1`,
    'Host: cluster',
    'Authorization: Bearer test-token',
    ...more,
    '',
    '',
  ]
  const watch = await opened(head(`${widgets}?watch=true`), '200 OK')
  await asRoot('POST', widgets, { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'watched' } })
  const heard = (watch as unknown as { heard(): string }).heard
  await until(async () => (heard().includes('"type":"ADDED"') ? true : undefined))
  watch.destroy()
  const upgraded = await opened(head(`${widgets}/one/exec`, 'Connection: Upgrade', 'Upgrade: SPDY/3.1'), 'hello admin')
  upgraded.write('ping')
  await until(async () => ((upgraded as unknown as { heard(): string }).heard().includes('PING') ? true : undefined))
  upgraded.destroy()
})

test('a collection is deleted where it lives', async () => {
  await asRoot('DELETE', widgets)
  const { items } = (await asRoot('GET', widgets)) as { items: object[] }
  assert.deepEqual(items, [])
})

test('it cannot send clients elsewhere', async () => {
  extension.misbehaves = ({ url }, response) =>
    url?.endsWith('/widgets') ? response.writeHead(302, { location: 'https://evil.example.com/' }).end() : 'not here'
  const { status, body } = await ask(root, 'GET', widgets)
  assert.deepEqual([status, body], [503, { answer: 'the backend attempted to redirect this request, which is not permitted\n' }])
  extension.misbehaves = undefined
})

test('kubectl uses it like any other API', { timeout: 240_000 }, async (t) => {
  const [found] = installedKubectls().slice(-1)
  if (found === undefined) return t.skip('there is no kubectl')
  const run = kubectlBeside(found.path, cluster.kubeconfig)
  const manifest = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'by-kubectl' }, spec: { colour: 'blue' } }
  const created = await run(['create', '-f', '-'], JSON.stringify(manifest))
  assert.equal(created.stdout, `widget.${group}/by-kubectl created\n`, created.stderr)
  assert.match((await run(['get', 'wd'])).stdout, /by-kubectl/)
  const explained = await run(['explain', 'widget.spec'])
  assert.match(explained.stdout, /How it looks/, explained.stderr)
  assert.match((await run(['api-resources', '--api-group', group])).stdout, /widgets +wd +extension.example.com\/v1 +true +Widget/)
  assert.match((await run(['get', 'apiservices', `v1.${group}`])).stdout, /default\/extension +True/)
  assert.equal((await run(['delete', 'widget', 'by-kubectl'])).exitCode, 0)
})

test('while it is down its requests get 503, discovery calls it stale, and everything else goes on', { timeout: 240_000 }, async () => {
  await asRoot('POST', '/api/v1/namespaces', { metadata: { name: 'goes' } })
  await asRoot('POST', `/apis/${group}/v1/namespaces/goes/widgets`, {
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    metadata: { name: 'left' },
  })
  // Not yet known to be down.
  extension.misbehaves = ({ url }, response) => (url?.endsWith('/widgets') ? response.destroy() : 'not here')
  const broken = await ask(root, 'GET', widgets)
  assert.equal(broken.status, 503)
  assert.match(String(broken.body['answer']), /^error trying to reach service: /)
  extension.misbehaves = (_, response) => response.destroy()
  // Told at once, since what is behind it changes; otherwise it would be found out at the next look.
  const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/extension-1'
  const slice = (await asRoot('GET', slices)) as { metadata: { labels: Record<string, string> } }
  slice.metadata.labels['touched'] = 'yes'
  await asRoot('PUT', slices, slice)
  await told('FailedDiscoveryCheck')
  assert.deepEqual((await ask(root, 'GET', widgets)).body, { answer: 'service unavailable\n' })
  const accept = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' }
  type Found = { metadata: { name: string }; versions: { freshness: string }[] }
  await until(async () => {
    const { body } = await ask(root, 'GET', '/apis', undefined, accept)
    const found = (body['items'] as Found[]).find(({ metadata }) => metadata.name === group)
    return found?.versions[0]?.freshness === 'Stale' ? true : undefined
  })
  assert.equal((await asRoot('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'meanwhile' } }))['kind'], 'ConfigMap')
  const { body: metrics } = await ask(root, 'GET', '/metrics')
  assert.match(String(metrics['answer']), new RegExp(`aggregator_unavailable_apiservice\\{name="v1.${group}"\\} 1`))
  const configMaps = '/api/v1/namespaces/default/configmaps'
  const owner = (await asRoot('POST', configMaps, { metadata: { name: 'owner' } })) as { metadata: { uid: string } }
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid }]
  await asRoot('POST', configMaps, { metadata: { name: 'owned', ownerReferences } })
  await asRoot('DELETE', `${configMaps}/owner`)
  await until(async () => ((await ask(root, 'GET', `${configMaps}/owned`)).status === 404 ? true : undefined))
  // Nobody can say what is left in a namespace while one who may keep something there is silent.
  await asRoot('DELETE', '/api/v1/namespaces/goes')
  await until(async () => {
    const { status } = (await asRoot('GET', '/api/v1/namespaces/goes')) as { status: { conditions?: { type: string; status: string }[] } }
    return status.conditions?.find((each) => each.type === 'NamespaceDeletionDiscoveryFailure' && each.status === 'True')
  })
  extension.misbehaves = undefined
  await told('Passed')
  assert.equal((await ask(root, 'GET', widgets)).status, 200)
  await until(async () => ((await ask(root, 'GET', '/api/v1/namespaces/goes')).status === 404 ? true : undefined))
  assert.deepEqual((await asRoot('GET', `/apis/${group}/v1/namespaces/goes/widgets`))['items'], [])
})

test('a server without the newer forms is described all the same', { timeout: 240_000 }, async () => {
  extension.isModern = false
  const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/extension-1'
  const slice = (await asRoot('GET', slices)) as { metadata: { labels: Record<string, string> } }
  slice.metadata.labels['touched'] = 'again'
  await asRoot('PUT', slices, slice)
  const accept = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' }
  type Found = { metadata: { name: string }; versions: { resources?: { resource: string; responseKind: object }[] }[] }
  const resource = await until(async () => {
    const { body } = await ask(root, 'GET', '/apis', undefined, accept)
    return (body['items'] as Found[]).find(({ metadata }) => metadata.name === group)?.versions[0]?.resources?.[0]
  })
  assert.deepEqual(resource.responseKind, { group, version: 'v1', kind: 'Widget' })
  type Document = { paths: Record<string, { serverRelativeURL: string }>; components: { schemas: object } }
  const made = await until(async () => {
    const url = ((await asRoot('GET', '/openapi/v3')) as Document).paths[`apis/${group}/v1`]?.serverRelativeURL
    return url?.endsWith('hash=abc') ? undefined : url
  })
  assert.deepEqual(Object.keys(((await asRoot('GET', made)) as Document).components.schemas), ['com.example.v1.Widget'])
  extension.isModern = true
})

test('an APIService that goes takes its group along', async () => {
  await asRoot('DELETE', `${apiServices}/v1.${group}`)
  assert.equal((await ask(root, 'GET', widgets)).status, 404)
  const { groups } = (await asRoot('GET', '/apis')) as { groups: { name: string }[] }
  assert.ok(!groups.some(({ name }) => name === group))
})

test('the APIService of the aggregation API itself cannot be given away', async () => {
  const path = `${apiServices}/v1.apiregistration.k8s.io`
  const object = (await asRoot('GET', path)) as { spec: object }
  await asRoot('PUT', path, {
    ...object,
    spec: { ...object.spec, service: { namespace: 'default', name: 'extension' }, insecureSkipTLSVerify: true },
  })
  assert.equal((await ask(root, 'GET', path)).status, 200)
  await asRoot('PUT', path, { ...(await asRoot('GET', path)), spec: object.spec })
})

test('custom resources have an APIService as long as they are there', { timeout: 240_000 }, async () => {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const version = (name: string) => ({ name, served: true, storage: name === 'v1', schema: { openAPIV3Schema: { type: 'object' } } })
  await asRoot('POST', definitions, {
    metadata: { name: 'things.own.example.com' },
    spec: {
      group: 'own.example.com',
      scope: 'Cluster',
      names: { plural: 'things', kind: 'Thing' },
      versions: [version('v1'), version('v1beta1')],
    },
  })
  const found = (name: string) =>
    until(async () => {
      const { status, body } = await ask(root, 'GET', `${apiServices}/${name}.own.example.com`)
      const service = body as { metadata: { labels: object }; spec: object; status?: { conditions?: Condition[] } }
      return status === 200 && service.status?.conditions !== undefined ? service : undefined
    })
  const service = await found('v1beta1')
  assert.deepEqual(service.metadata.labels, { 'kube-aggregator.kubernetes.io/automanaged': 'true' })
  assert.deepEqual(service.spec, { group: 'own.example.com', version: 'v1beta1', groupPriorityMinimum: 1000, versionPriority: 100 })
  assert.equal(service.status?.conditions?.[0]?.reason, 'Local')
  await asRoot('DELETE', `${apiServices}/v1.own.example.com`)
  await found('v1')
  await asRoot('DELETE', `${definitions}/things.own.example.com`)
  for (const name of ['v1', 'v1beta1']) {
    await until(async () => ((await ask(root, 'GET', `${apiServices}/${name}.own.example.com`)).status === 404 ? true : undefined))
  }
})

test('proxies and certificates of one’s own are taken from flags', { timeout: 240_000 }, async (t) => {
  if (extension.address === undefined) return t.skip('this machine has no address but loopback')
  const directory = mkdtempSync(join(tmpdir(), 'tn proxies '))
  const own = testAuthority('proxies')
  const proxy = own.issue('proxy-a', { extendedKeyUsages: ['clientAuth'] })
  const stranger = own.issue('proxy-b', { extendedKeyUsages: ['clientAuth'] })
  const file = (name: string, content: string) => {
    writeFileSync(join(directory, name), content)
    return join(directory, name)
  }
  const flags = {
    'requestheader-client-ca-file': file('ca.crt', own.pem),
    'requestheader-allowed-names': 'proxy-a',
    'requestheader-username-headers': 'X-Who',
    'proxy-client-cert-file': file('proxy.crt', proxy.certificate),
    'proxy-client-key-file': file('proxy.key', proxy.key),
    'enable-aggregator-routing': 'true',
  }
  await using other = await startCluster(Object.entries(flags).map(([name, value]) => `--${name}=${value}`))
  const askOther = asker(other.url, readFileSync(join(other.directory, 'data', 'pki', 'ca.crt'), 'utf8'))
  const { body } = await askOther(root, 'GET', '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication')
  const { data } = body as { data: Record<string, string> }
  assert.deepEqual(
    [data['requestheader-client-ca-file'], data['requestheader-allowed-names'], data['requestheader-username-headers']],
    [own.pem, '["proxy-a"]', '["X-Who"]'],
  )
  const asProxy = (identity: { certificate: string; key: string }, header: string) =>
    whoIs(askOther, { cert: identity.certificate, key: identity.key, headers: { [header]: 'jane' } })
  assert.equal((await asProxy(proxy, 'X-Who'))?.username, 'jane')
  assert.equal((await asProxy(proxy, 'X-Remote-User'))?.username, undefined)
  assert.equal(await asProxy(stranger, 'X-Who'), undefined)
  const behind = await startExtensionServer(['extension.default.svc'], group, { authority: own.pem, allowedNames: ['proxy-a'] })
  t.after(() => behind[Symbol.asyncDispose]())
  const post = async (path: string, object: object) => assert.equal((await askOther(root, 'POST', path, object)).status, 201)
  await post('/api/v1/namespaces/default/services', { metadata: { name: 'extension' }, spec: { ports: [{ name: 'https', port: 8443 }] } })
  await post('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    ...endpointSlice(),
    ports: [{ name: 'https', port: behind.port }],
  })
  await post(apiServices, { ...apiService(), spec: { ...apiService().spec, caBundle: behind.caBundle } })
  await until(async () => ((await askOther(root, 'GET', widgets)).status === 200 ? true : undefined))
  assert.equal(lastSeen(behind, 'GET', widgets)?.commonName, 'proxy-a')
})
