/** Admission webhooks of a running cluster, at a real HTTPS server: by URL and by service, well behaved and not. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/kinds.gen.ts'
import { ConfigMap, Pod, Service } from '#api/core/v1/kinds.gen.ts'
import { startCluster as startClusterHere } from '#cmd/all-in-one/start-cluster.ts'
import { type Ask, asker, bearer, type Reply } from '../support/ask.ts'
import { installedKubectls, kubectlBeside } from '../support/kubectl.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'
import { type Answer, startWebhookServer, type WebhookServer } from '../support/webhook-server.ts'

const root = bearer('test-token')
const registration = '/apis/admissionregistration.k8s.io/v1'
let cluster: RunningCluster
let server: WebhookServer
let ask: Ask

before(async () => {
  server = await startWebhookServer(['hook.hooks.svc'])
  cluster = await startCluster()
  ask = asker(cluster.url, readFileSync(join(cluster.directory, 'data', 'pki', 'ca.crt'), 'utf8'))
})
after(async () => {
  await cluster?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

const configMapRule = { operations: ['CREATE', 'UPDATE', 'DELETE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }

async function asRoot(method: string, path: string, body?: object): Promise<Reply['body']> {
  const reply = await ask(root, method, path, body)
  assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
  return reply.body
}

/** A namespace of its own for each test, labelled with its name, and a webhook for it alone. */
async function withWebhook(
  kind: 'Mutating' | 'Validating',
  name: string,
  answer: Answer,
  more: object = {},
): Promise<{ create(name: string, more?: object, query?: string): Promise<Reply>; path: string }> {
  const path = `/${name}`
  server.on(path, answer)
  await asRoot('POST', '/api/v1/namespaces', { metadata: { name, labels: { test: name } } })
  const webhook = {
    name: `${name}.example.com`,
    clientConfig: { url: server.url(path), caBundle: server.caBundle },
    rules: [configMapRule],
    namespaceSelector: { matchLabels: { test: name } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...more,
  }
  await asRoot('POST', `${registration}/${kind.toLowerCase()}webhookconfigurations`, { metadata: { name }, webhooks: [webhook] })
  return {
    path,
    create: (object, fields = {}, query = '') =>
      ask(root, 'POST', `/api/v1/namespaces/${name}/configmaps${query}`, { metadata: { name: object }, ...fields }),
  }
}

const patching = (...operations: object[]) => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
})

test('a mutating webhook changes what is stored, a validating one sees it and refuses', async () => {
  const { create } = await withWebhook('Mutating', 'changes', () => patching({ op: 'add', path: '/data', value: { added: 'yes' } }))
  const { body } = await create('one')
  assert.deepEqual(body['data'], { added: 'yes' })
  const stored = await asRoot('GET', '/api/v1/namespaces/changes/configmaps/one')
  assert.deepEqual(stored['data'], { added: 'yes' })
  server.on('/validates', ({ object }) => {
    const { data } = object as { data?: Record<string, string> }
    return data?.['added'] === 'yes' ? { allowed: false, status: { message: 'nothing may be added', code: 403 } } : { allowed: true }
  })
  const webhook = {
    name: 'validates.example.com',
    clientConfig: { url: server.url('/validates'), caBundle: server.caBundle },
    rules: [configMapRule],
    namespaceSelector: { matchLabels: { test: 'changes' } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  }
  await asRoot('POST', `${registration}/validatingwebhookconfigurations`, { metadata: { name: 'validates' }, webhooks: [webhook] })
  const refused = await create('two')
  assert.equal(refused.status, 403)
  assert.equal(refused.body['message'], 'admission webhook "validates.example.com" denied the request: nothing may be added')
  await asRoot('DELETE', `${registration}/validatingwebhookconfigurations/validates`)
  assert.equal((await create('two')).status, 201)
})

test('a service is reached at its endpoints, by its own name', async (t) => {
  if (server.address === undefined) return t.skip('this machine has no address but loopback')
  const service = { namespace: 'hooks', name: 'hook', path: '/by-service', port: 8443 }
  await asRoot('POST', '/api/v1/namespaces', { metadata: { name: 'hooks' } })
  await asRoot('POST', '/api/v1/namespaces/hooks/services', {
    metadata: { name: 'hook' },
    spec: { ports: [{ name: 'https', port: 8443, targetPort: server.port }] },
  })
  const { create } = await withWebhook('Validating', 'by-service', () => ({ allowed: false, status: { message: 'reached' } }), {
    clientConfig: { service, caBundle: server.caBundle },
  })
  const unreachable = await create('one')
  assert.equal(unreachable.status, 500)
  const shown = 'Post "https://hook.hooks.svc:8443/by-service?timeout=10s"'
  const why = `failed calling webhook "by-service.example.com": failed to call webhook: ${shown}: no endpoints available for service "hook"`
  assert.equal(unreachable.body['message'], `Internal error occurred: ${why}`)
  await asRoot('POST', '/apis/discovery.k8s.io/v1/namespaces/hooks/endpointslices', {
    metadata: { name: 'hook-1', labels: { 'kubernetes.io/service-name': 'hook' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [server.address] }],
    ports: [{ name: 'https', port: server.port }],
  })
  const refused = await create('one')
  assert.equal(refused.body['message'], 'admission webhook "by-service.example.com" denied the request: reached')
  assert.equal(server.asked('/by-service')[0]?.headers['host'], 'hook.hooks.svc:8443')
})

const endless = () =>
  new ReadableStream({
    pull(controller) {
      controller.enqueue(Buffer.alloc(65_536, 0x20))
    },
  })
const troubles: [string, Answer, object, RegExp][] = [
  ['silent', () => undefined, { timeoutSeconds: 1 }, /Post "https:.*\?timeout=1s": context deadline exceeded$/],
  ['down', () => ({}), { clientConfig: { url: 'https://127.0.0.1:1/x' } }, /dial tcp 127.0.0.1:1: connect: connection refused$/],
  ['unknown', () => ({}), { clientConfig: { url: 'URL' } }, /x509: certificate signed by unknown authority$/],
  ['endless', endless, {}, /the answer is larger than \d+ bytes$/],
  ['no-json', () => '<html>', {}, /json parse error: invalid character '<' looking for beginning of value$/],
  ['wrong-uid', () => ({ allowed: true, uid: 'x' }), {}, /expected response.uid="[0-9a-f-]{36}", got "x"$/],
  ['bad-patch', () => ({ allowed: true, patch: 'e30=' }), {}, /validating webhook may not return response.patch$/],
]
for (const [name, answer, more, message] of troubles) {
  test(`a webhook that is ${name} makes requests fail, or is ignored, as its policy says`, async () => {
    const config = more as { clientConfig?: { url: string } }
    const given = config.clientConfig?.url === 'URL' ? { clientConfig: { url: server.url(`/${name}`) } } : more
    const { create } = await withWebhook('Validating', name, answer, given)
    const strict = await create('one')
    assert.equal(strict.status, 500)
    assert.match(String(strict.body['message']), /^Internal error occurred: failed calling webhook ".*": /)
    assert.match(String(strict.body['message']), message)
    const path = `${registration}/validatingwebhookconfigurations/${name}`
    const configuration = (await asRoot('GET', path)) as { webhooks: { failurePolicy: string }[] }
    for (const webhook of configuration.webhooks) webhook.failurePolicy = 'Ignore'
    await asRoot('PUT', path, configuration)
    assert.equal((await create('one')).status, 201)
  })
}

test('a slow webhook holds up nobody else', async () => {
  const reached = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<object>()
  const { create } = await withWebhook(
    'Validating',
    'slow',
    () => {
      reached.resolve()
      return answered.promise
    },
    { timeoutSeconds: 30 },
  )
  const pending = Array.from({ length: 20 }, (_, index) => create(`slow-${index}`))
  await reached.promise
  let isOver = false
  const all = Promise.all(pending).finally(() => {
    isOver = true
  })
  assert.equal((await ask(root, 'POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'meanwhile' } })).status, 201)
  assert.equal(isOver, false)
  answered.resolve({ allowed: true })
  for (const { status } of await all) assert.equal(status, 201)
})

test('a client that has no time to wait gets its answer in time, and nothing is written behind its back', async () => {
  const { create } = await withWebhook('Mutating', 'hurried', () => undefined, { timeoutSeconds: 30, failurePolicy: 'Ignore' })
  // On a busy machine the second may be over before the webhook was asked.
  do assert.equal((await create('one', {}, '?timeout=1s')).status, 504)
  while (server.asked('/hurried').length === 0)
  assert.equal(server.asked('/hurried').length, 1)
  assert.equal((await ask(root, 'GET', '/api/v1/namespaces/hurried/configmaps/one')).status, 404)
})

test('a webhook that writes what it is asked about goes round in circles only until its time is up', async () => {
  let depth = 0
  const { create } = await withWebhook(
    'Validating',
    'looping',
    async () => {
      const inner = await create(`inner-${depth++}`)
      return { allowed: inner.status < 300 }
    },
    { timeoutSeconds: 1 },
  )
  const outer = await create('outer')
  assert.equal(outer.status, 500)
  assert.match(String(outer.body['message']), /context deadline exceeded$/)
  assert.equal((await ask(root, 'GET', '/api/v1/namespaces/default')).status, 200)
  await asRoot('DELETE', `${registration}/validatingwebhookconfigurations/looping`)
})

test('a webhook may write the very object it is asked about', async () => {
  const path = '/api/v1/namespaces/itself/configmaps/one'
  let isFirst = true
  const { create } = await withWebhook('Validating', 'itself', async ({ operation }) => {
    if (operation === 'UPDATE' && isFirst) {
      isFirst = false
      const current = await asRoot('GET', path)
      await asRoot('PUT', path, { ...current, data: { by: 'the webhook' } })
    }
    return { allowed: true }
  })
  await create('one')
  const current = await asRoot('GET', path)
  const conflict = await ask(root, 'PUT', path, { ...current, data: { by: 'the client' } })
  assert.equal(conflict.status, 409)
  assert.deepEqual((await asRoot('GET', path))['data'], { by: 'the webhook' })
})

test('a webhook against webhooks cannot lock anybody out', async () => {
  const all = [{ operations: ['*'], apiGroups: ['admissionregistration.k8s.io'], apiVersions: ['*'], resources: ['*'] }]
  await withWebhook('Validating', 'lockout', () => ({ allowed: false }), { rules: all, namespaceSelector: {} })
  await asRoot('DELETE', `${registration}/validatingwebhookconfigurations/lockout`)
  assert.equal(server.asked('/lockout').length, 0)
})

test('deletions are validated one by one, also when a whole collection goes', async () => {
  const { create } = await withWebhook('Validating', 'deletions', ({ operation, oldObject }) => {
    // Of a collection only the old object tells which it is.
    const { metadata } = (oldObject ?? {}) as { metadata?: { name?: string } }
    return { allowed: operation !== 'DELETE' || metadata?.name !== 'kept', status: { message: 'it stays' } }
  })
  await create('gone')
  await create('kept')
  const single = await ask(root, 'DELETE', '/api/v1/namespaces/deletions/configmaps/kept')
  assert.equal(single.body['message'], 'admission webhook "deletions.example.com" denied the request: it stays')
  const all = await ask(root, 'DELETE', '/api/v1/namespaces/deletions/configmaps')
  assert.equal(all.status, 400)
  assert.equal((await ask(root, 'GET', '/api/v1/namespaces/deletions/configmaps/kept')).status, 200)
  const asked = server.asked('/deletions').find(({ operation }) => operation === 'DELETE')
  assert.equal(asked?.object, null)
  assert.equal(((asked?.oldObject ?? {}) as { kind?: string }).kind, 'ConfigMap')
  assert.deepEqual(((asked?.options ?? {}) as { kind?: string }).kind, 'DeleteOptions')
  await asRoot('DELETE', `${registration}/validatingwebhookconfigurations/deletions`)
})

test('a scale is shown as a Scale, and what a webhook makes of it is what counts', async () => {
  const rule = { operations: ['UPDATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments/scale'] }
  await withWebhook('Mutating', 'scales', () => patching({ op: 'replace', path: '/spec/replicas', value: 3 }), { rules: [rule] })
  const labels = { app: 'x' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'nginx' }] } }
  await asRoot('POST', '/apis/apps/v1/namespaces/scales/deployments', {
    metadata: { name: 'd' },
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  })
  // Without a resource version: the deployment's controller may write at any time.
  const metadata = { name: 'd', namespace: 'scales' }
  await asRoot('PUT', '/apis/apps/v1/namespaces/scales/deployments/d/scale', { metadata, spec: { replicas: 9 } })
  const { spec } = (await asRoot('GET', '/apis/apps/v1/namespaces/scales/deployments/d')) as { spec: { replicas: number } }
  assert.equal(spec.replicas, 3)
  const [asked] = server.asked('/scales')
  assert.deepEqual(asked?.kind, { group: 'autoscaling', version: 'v1', kind: 'Scale' })
  assert.deepEqual(((asked?.object ?? {}) as { spec: object }).spec, { replicas: 9 })
})

test('connections to pods are validated', async () => {
  const rule = { operations: ['CONNECT'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/attach', 'pods/exec'] }
  await withWebhook('Validating', 'connections', () => ({ allowed: false, status: { message: 'attaching to pods is not allowed' } }), {
    rules: [rule],
  })
  await asRoot('POST', '/api/v1/namespaces/connections/serviceaccounts', { metadata: { name: 'default' } }).catch(() => undefined)
  await asRoot('POST', '/api/v1/namespaces/connections/pods', {
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'nginx' }] },
  })
  const { status, body } = await ask(root, 'POST', '/api/v1/namespaces/connections/pods/p/attach?container=c&stdin=true')
  assert.equal(status, 400)
  assert.match(String(body['message']), /denied the request: attaching to pods is not allowed/)
  const [asked] = server.asked('/connections')
  assert.deepEqual(asked?.kind, { group: '', version: 'v1', kind: 'PodAttachOptions' })
  assert.equal(asked?.subResource, 'attach')
  assert.equal(((asked?.object ?? {}) as { container?: string }).container, 'c')
})

test('a dry run reaches webhooks without side effects, and says so', async () => {
  const { create } = await withWebhook('Mutating', 'dry-run', () => patching({ op: 'add', path: '/data', value: { a: 'b' } }))
  const { body } = await create('one', {}, '?dryRun=All')
  assert.deepEqual(body['data'], { a: 'b' })
  assert.equal(server.asked('/dry-run')[0]?.dryRun, true)
  assert.equal((await ask(root, 'GET', '/api/v1/namespaces/dry-run/configmaps/one')).status, 404)
})

test('a webhook cannot move an object into another namespace', async () => {
  const { create } = await withWebhook('Mutating', 'moving', () =>
    patching({ op: 'replace', path: '/metadata/namespace', value: 'default' }),
  )
  const { status, body } = await create('one')
  assert.equal(status, 400)
  assert.equal(body['message'], 'the namespace of the provided object does not match the namespace sent on the request')
})

test('custom resources are shown in the version a webhook knows, and what their definition does not know is dropped', async () => {
  const data = { type: 'object', additionalProperties: { type: 'string' } }
  const openAPIV3Schema = { type: 'object', properties: { data, level: { type: 'integer', default: 1 } } }
  const version = (name: string, storage: boolean) => ({ name, served: true, storage, schema: { openAPIV3Schema } })
  const group = 'hooked.example.com'
  await asRoot('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `things.${group}` },
    spec: { group, scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' }, versions: [version('v1', true), version('v2', false)] },
  })
  const rule = { operations: ['*'], apiGroups: [group], apiVersions: ['v1'], resources: ['things'] }
  await withWebhook(
    'Mutating',
    'custom',
    () =>
      patching(
        { op: 'add', path: '/data', value: { added: 'yes' } },
        { op: 'add', path: '/colour', value: 'blue' },
        { op: 'remove', path: '/level' },
      ),
    { rules: [rule] },
  )
  const path = `/apis/${group}/v2/namespaces/custom/things`
  const thing = { apiVersion: `${group}/v2`, kind: 'Thing', metadata: { name: 'one' }, level: 7 }
  let reply = await ask(root, 'POST', path, thing)
  while (reply.status === 404) reply = await ask(root, 'POST', path, thing)
  assert.equal(reply.status, 201, JSON.stringify(reply.body))
  const { apiVersion, data: stored, level, colour } = reply.body
  assert.deepEqual(
    { apiVersion, stored, level, colour },
    { apiVersion: `${group}/v2`, stored: { added: 'yes' }, level: 1, colour: undefined },
  )
  const [asked] = server.asked('/custom')
  assert.deepEqual(
    [asked?.kind, asked?.requestKind],
    [
      { group, version: 'v1', kind: 'Thing' },
      { group, version: 'v2', kind: 'Thing' },
    ],
  )
  assert.equal(((asked?.object ?? {}) as { apiVersion?: string }).apiVersion, `${group}/v1`)
  const policies = `${registration}/validatingadmissionpolicies`
  await asRoot('POST', policies, {
    metadata: { name: 'no-bad-things' },
    spec: {
      matchConstraints: { resourceRules: [{ ...rule, scope: '*' }] },
      validations: [{ expression: "object.metadata.name != 'bad' && object.apiVersion == 'hooked.example.com/v1'" }],
    },
  })
  await asRoot('POST', `${registration}/validatingadmissionpolicybindings`, {
    metadata: { name: 'no-bad-things' },
    spec: { policyName: 'no-bad-things', validationActions: ['Deny'] },
  })
  assert.equal((await ask(root, 'POST', path, { ...thing, metadata: { name: 'good' } })).status, 201)
  const bad = await ask(root, 'POST', path, { ...thing, metadata: { name: 'bad' } })
  assert.match(String(bad.body['message']), /ValidatingAdmissionPolicy 'no-bad-things'/)
})

test('definitions of custom resources can be refused', async () => {
  const rule = { operations: ['CREATE'], apiGroups: ['apiextensions.k8s.io'], apiVersions: ['*'], resources: ['customresourcedefinitions'] }
  const refuse: Answer = () => ({ allowed: false, status: { message: 'no such thing' } })
  await withWebhook('Validating', 'definitions', refuse, { rules: [rule], namespaceSelector: {} })
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }
  const { body } = await ask(root, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'no.such.example.com' },
    spec: { group: 'such.example.com', scope: 'Cluster', names: { plural: 'no', kind: 'No' }, versions: [version] },
  })
  assert.equal(body['message'], 'admission webhook "definitions.example.com" denied the request: no such thing')
  await asRoot('DELETE', `${registration}/validatingwebhookconfigurations/definitions`)
})

test('questions about access are shown to webhooks as well', async () => {
  const rule = { operations: ['CREATE'], apiGroups: ['authorization.k8s.io'], apiVersions: ['*'], resources: ['subjectaccessreviews'] }
  const refuse: Answer = () => ({ allowed: false, status: { message: 'do not ask' } })
  await withWebhook('Validating', 'questions', refuse, { rules: [rule], namespaceSelector: {} })
  const spec = { user: 'somebody', resourceAttributes: { verb: 'get', resource: 'pods' } }
  const { body } = await ask(root, 'POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec })
  assert.equal(body['message'], 'admission webhook "questions.example.com" denied the request: do not ask')
  await asRoot('DELETE', `${registration}/validatingwebhookconfigurations/questions`)
})

test('a webhook on a simulated node is refused with a word about why', { timeout: 240_000 }, async () => {
  await using simulated = await startClusterHere({ simNodes: 1 })
  const { client } = simulated
  const labels = { app: 'hook' }
  const spec = { containers: [{ name: 'c', image: 'hook' }] }
  await client.create(Pod, { metadata: { namespace: 'default', name: 'hook', labels }, spec })
  await client.create(Service, { metadata: { namespace: 'default', name: 'hook' }, spec: { selector: labels, ports: [{ port: 443 }] } })
  await client.create(ValidatingWebhookConfiguration, {
    metadata: { name: 'simulated' },
    webhooks: [
      {
        name: 'simulated.example.com',
        clientConfig: { service: { namespace: 'default', name: 'hook' } },
        rules: [configMapRule],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  })
  const refusal = () => client.create(ConfigMap, { metadata: { namespace: 'default', name: 'one' } }).then(() => '', String)
  let refused = await refusal()
  while (refused.endsWith('no endpoints available for service "hook"')) refused = await refusal()
  assert.match(refused, /pod "hook" is on the simulated node "[^"]+", and simulated pods have no network$/)
})

test('kubectl shows warnings and refusals of webhooks', async (t) => {
  const [found] = installedKubectls().slice(-1)
  if (found === undefined) return t.skip('there is no kubectl')
  const run = kubectlBeside(found.path, cluster.kubeconfig)
  await withWebhook('Validating', 'kubectl', ({ name }) => ({
    allowed: name !== 'bad',
    warnings: ['mind the gap'],
    status: { message: 'bad name' },
  }))
  const good = await run(['create', 'configmap', 'good', '-n', 'kubectl'])
  assert.equal(good.stderr, 'Warning: mind the gap\n')
  const bad = await run(['create', 'configmap', 'bad', '-n', 'kubectl'])
  assert.match(bad.stderr, /admission webhook "kubectl.example.com" denied the request: bad name/)
})

test('calls are told in the metrics', async () => {
  const { body } = await ask(root, 'GET', '/metrics')
  const text = String(body['answer'])
  assert.match(text, /apiserver_admission_webhook_request_total\{.*name="by-service.example.com".*\} \d+/)
  assert.match(text, /apiserver_admission_webhook_fail_open_count\{.*name="silent.example.com".*\} 1/)
  assert.match(text, /apiserver_admission_webhook_rejection_count\{.*error_type="calling_webhook_error".*\} \d+/)
})
