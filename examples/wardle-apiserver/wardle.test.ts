/** The wardle server behind a cluster, both in this process, spoken to through the cluster. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { load } from 'js-yaml'
import {
  APIService,
  type Client,
  defineKind,
  type ExtensionServer,
  type KubernetesObject,
  Role,
  RoleBinding,
  type StartedCluster,
  StatusError,
  startCluster,
  ValidatingWebhookConfiguration,
} from '#index.ts'
import { Fischer } from './fischer.ts'
import { publishService } from './publish-service.ts'
import { registerWardleServer, startWardleServer } from './wardle-server.ts'

type Flunder = KubernetesObject & { spec?: Record<string, string> }
const group = 'wardle.example.com'
const flunderIn = (version: string) => defineKind<Flunder>({ group, version, kind: 'Flunder', plural: 'flunders' })
const Flunder = flunderIn('v1beta1')
const OldFlunder = flunderIn('v1alpha1')
const service = { namespace: 'wardle', name: 'api' }
const address = Object.values(networkInterfaces())
  .flat()
  .find((each) => each !== undefined && !each.internal && each.family === 'IPv4')?.address
const skip = address === undefined ? 'this machine has no address but loopback' : false

let cluster: StartedCluster
let wardle: ExtensionServer
let client: Client

before(async () => {
  if (address === undefined) return
  cluster = await startCluster({ simNodes: 0 })
  client = cluster.client
  wardle = await startWardleServer({ client, service })
  await publishService(client, service, { address, port: wardle.port })
  await registerWardleServer(client, service, wardle.caBundle)
  for (const version of ['v1alpha1', 'v1beta1']) {
    await until(async () => {
      const { status } = await client.get(APIService, '', `${version}.${group}`)
      return status?.conditions?.some(({ reason }) => reason === 'Passed')
    })
  }
})
after(async () => {
  await cluster?.stop()
  await wardle?.stop()
})

/** The test's own time limit is the only one. */
async function until(holds: () => Promise<boolean | undefined>): Promise<void> {
  while (!(await holds().catch(() => false))) await new Promise((resolve) => setImmediate(resolve))
}

const named = (name: string, spec: Record<string, string> = {}): Flunder => ({ metadata: { namespace: 'default', name }, spec })
const message = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => assert.fail('it was not refused'),
    (reason: unknown) => reason,
  )
  return error instanceof StatusError ? `${error.code} ${error.message}` : String(error)
}

test('a flunder is one object in both versions', { skip }, async () => {
  await client.create(OldFlunder, named('one', { reference: 'other' }))
  const { apiVersion, spec } = await client.get(Flunder, 'default', 'one')
  assert.deepEqual({ apiVersion, spec }, { apiVersion: `${group}/v1beta1`, spec: { flunderReference: 'other', referenceType: 'Flunder' } })
  await client.create(Flunder, named('two', { fischerReference: 'f', referenceType: 'Fischer' }))
  assert.deepEqual((await client.get(OldFlunder, 'default', 'two')).spec, { reference: 'f', referenceType: 'Fischer' })
})

test('flunders that contradict themselves are refused', { skip }, async () => {
  const both = named('both', { flunderReference: 'a', fischerReference: 'b', referenceType: 'Flunder' })
  assert.match(
    await message(client.create(Flunder, both)),
    /422 .*spec.fischerReference: Invalid value: "b": cannot be set with flunderReference at the same time/,
  )
  const wrong = named('wrong', { reference: 'a', referenceType: 'Fish' })
  assert.match(
    await message(client.create(OldFlunder, wrong)),
    /422 .*spec.referenceType: Invalid value: "Fish": must be Flunder or Fischer/,
  )
})

test('a fischer bans names of flunders', { skip }, async () => {
  await client.create(Fischer, { metadata: { name: 'fischer' }, disallowedFlunders: ['badname'] })
  assert.equal(
    await message(client.create(Flunder, named('badname'))),
    '403 flunders.wardle.example.com "badname" is forbidden: this name may not be used, please change the resource name',
  )
  await client.delete(Fischer, { name: 'fischer' })
  await client.create(Flunder, named('badname'))
})

test('who may do what is the cluster’s to say, and the server asks it', { skip }, async () => {
  const jane = cluster.clientAs('jane', ['system:authenticated'])
  const refused = /^403 .*User "jane" cannot list resource "flunders" in API group "wardle.example.com"/
  assert.match(await message(jane.list(Flunder, { namespace: 'default' })), refused)
  await client.create(Role, {
    metadata: { namespace: 'default', name: 'readers' },
    rules: [{ apiGroups: [group], resources: ['flunders'], verbs: ['list'] }],
  })
  await client.create(RoleBinding, {
    metadata: { namespace: 'default', name: 'readers' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'readers' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
  })
  assert.ok((await jane.list(Flunder, { namespace: 'default' })).items.length > 0)
})

/** Past the cluster, at the server itself. */
function direct(path: string, options: object = {}): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const ca = Buffer.from(wardle.caBundle, 'base64').toString()
    const asked = request(`https://localhost:${wardle.port}${path}`, { ca, ...options }, async (response) => {
      let text = ''
      for await (const piece of response) text += String(piece)
      resolve({ status: response.statusCode ?? 0, text })
    })
    asked.on('error', reject).end()
  })
}

test('whoever comes past the cluster is who the cluster says, not who the headers say', { skip }, async () => {
  const path = `/apis/${group}/v1beta1/namespaces/default/flunders`
  const pretended = await direct(path, { headers: { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' } })
  assert.equal(pretended.status, 403)
  assert.match(pretended.text, /User \\"system:anonymous\\" cannot list resource \\"flunders\\"/)
  const unknown = await direct(path, { headers: { authorization: 'Bearer nonsense' } })
  assert.equal(unknown.status, 401)
  assert.deepEqual(await direct('/readyz'), { status: 200, text: 'ok' })
  const { users } = load(readFileSync(cluster.kubeconfig, 'utf8')) as { users: { user: Record<string, string> }[] }
  const pem = (name: string) => Buffer.from(users[0]?.user[name] ?? '', 'base64').toString()
  const admin = await direct(path, { cert: pem('client-certificate-data'), key: pem('client-key-data') })
  assert.equal(admin.status, 200)
})

test('there are no flunders in namespaces that are not there', { skip }, async () => {
  const lost = { metadata: { namespace: 'nowhere', name: 'lost' } }
  assert.equal(await message(client.create(Flunder, lost)), '404 namespaces "nowhere" not found')
})

test('webhooks of the cluster are asked about flunders as well', { skip, timeout: 240_000 }, async () => {
  await client.create(ValidatingWebhookConfiguration, {
    metadata: { name: 'nobody' },
    webhooks: [
      {
        name: 'nobody.example.com',
        clientConfig: { service: { namespace: 'wardle', name: 'nobody' } },
        rules: [{ operations: ['CREATE'], apiGroups: [group], apiVersions: ['v1alpha1'], resources: ['flunders'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  })
  const refusal = () =>
    client.create(Flunder, named('asked')).then(() => client.delete(Flunder, { namespace: 'default', name: 'asked' }), String)
  let refused: unknown = await refusal()
  while (typeof refused !== 'string') refused = await refusal()
  assert.match(refused, /failed calling webhook "nobody.example.com": .*service "nobody" not found/)
  await client.delete(ValidatingWebhookConfiguration, { name: 'nobody' })
  await until(async () => (await client.create(Flunder, named('asked'))) !== undefined)
})

test('flunders are watched, patched and deleted like anything else', { skip, timeout: 240_000 }, async () => {
  const abort = new AbortController()
  const seen: string[] = []
  const { metadata } = await client.list(Flunder, { namespace: 'default' })
  const watching = (async () => {
    for await (const { type, object } of client.watch(Flunder, {
      namespace: 'default',
      resourceVersion: metadata?.resourceVersion ?? '',
      signal: abort.signal,
    })) {
      seen.push(`${type} ${(object as Flunder).metadata?.name}`)
      if (type === 'DELETED') break
    }
  })()
  await client.create(Flunder, named('watched'))
  await client.patch(Flunder, { namespace: 'default', name: 'watched' }, { metadata: { labels: { a: 'b' } } }, { type: 'merge' })
  await client.delete(Flunder, { namespace: 'default', name: 'watched' })
  await watching
  abort.abort()
  assert.deepEqual(seen, ['ADDED watched', 'MODIFIED watched', 'DELETED watched'])
})

test('what was written is there after a restart', { skip }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'wardle-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  const other = { namespace: 'wardle', name: 'other' }
  {
    await using first = await startWardleServer({ client, service: other, dataDir })
    await first.objects.create(Fischer, { metadata: { name: 'kept' }, disallowedFlunders: ['x'] })
  }
  await using second = await startWardleServer({ client, service: other, dataDir })
  assert.deepEqual(
    second.objects.list(Fischer).map(({ metadata, disallowedFlunders }) => [metadata?.name, disallowedFlunders]),
    [['kept', ['x']]],
  )
})
