/** Clients that want more than they were given: every way we know of must end in 401 or 403. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent, request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { issueIdentity, newAuthority, readAuthority } from '#apiserver/pki/authority.ts'
import type { Identity } from '#apiserver/pki/identities.ts'
import { systemRandom } from '#base/random.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'
import { everyOtherPath, everyResourcePath } from './hostile/every-path.ts'

type Who = { cert?: string; key?: string; headers?: Record<string, string | string[]> }
type Reply = { status: number; body: Record<string, unknown> }

let cluster: RunningCluster
let ca: string
let auditDirectory: string
const agent = new Agent({ keepAlive: true })
const who: Record<string, Who> = {}

before(async () => {
  auditDirectory = mkdtempSync(join(tmpdir(), 'tn-audit-'))
  const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }
  writeFileSync(join(auditDirectory, 'policy.yaml'), JSON.stringify(policy))
  const audit = ['--audit-policy-file', join(auditDirectory, 'policy.yaml'), '--audit-log-path', join(auditDirectory, 'audit.log')]
  const alone = ['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false']
  cluster = await startCluster([...alone, ...audit, '--log-level', 'debug', '--runtime-config', 'api/all=true'])
  const pki = join(cluster.directory, 'data', 'pki')
  ca = readFileSync(join(pki, 'ca.crt'), 'utf8')
  const authority = readAuthority('ca', ca, readFileSync(join(pki, 'ca.key'), 'utf8'))
  const proxyAuthority = readAuthority(
    'front-proxy-ca',
    readFileSync(join(pki, 'front-proxy-ca.crt'), 'utf8'),
    readFileSync(join(pki, 'front-proxy-ca.key'), 'utf8'),
  )
  const own = newAuthority('ca', Date.now(), systemRandom).authority
  const client = (commonName: string, organizations: string[] = [], signer = authority): Who => {
    const identity: Identity = { name: 'x', signer: 'ca', subject: { commonName, organizations }, usages: ['clientAuth'] }
    const { certificatePem, privateKeyPem } = issueIdentity(identity, signer, Date.now(), systemRandom)
    return { cert: certificatePem, key: privateKeyPem }
  }
  Object.assign(who, {
    nobody: {},
    root: { headers: { authorization: `Bearer ${cluster.token}` } },
    viewer: client('viewer'),
    owner: client('owner'),
    policyMaker: client('policyMaker'),
    n1: client('system:node:n1', ['system:nodes']),
    n2: client('system:node:n2', ['system:nodes']),
    otherProxy: client('not-the-front-proxy', [], proxyAuthority),
    selfMade: client('root', ['system:masters'], own),
  } satisfies Record<string, Who>)

  await created('/api/v1/namespaces', { metadata: { name: 'dev' } })
  await created('/api/v1/namespaces', { metadata: { name: 'dra', labels: { 'resource.kubernetes.io/admin-access': 'true' } } })
  await created('/api/v1/namespaces/dev/serviceaccounts', { metadata: { name: 'default' } })
  for (const name of ['used', 'unused']) await created('/api/v1/namespaces/dev/secrets', { metadata: { name }, stringData: { k: 'v' } })
  for (const name of ['n1', 'n2']) await created('/api/v1/nodes', { metadata: { name } })
  await bound('viewer', 'view')
  await bound('owner', 'admin')
  await created(`${rbac}/clusterroles`, {
    metadata: { name: 'policy-maker' },
    rules: [
      { apiGroups: ['admissionregistration.k8s.io'], resources: ['*'], verbs: ['*'] },
      { apiGroups: ['resource.k8s.io'], resources: ['resourceclaims', 'resourceclaims/status'], verbs: ['*'] },
      { apiGroups: [''], resources: ['pods/exec', 'pods/portforward'], verbs: ['get'] },
    ],
  })
  await created(`${rbac}/clusterrolebindings`, {
    metadata: { name: 'policy-maker' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'policy-maker' },
    subjects: me('policyMaker'),
  })
  await created('/apis/resource.k8s.io/v1/namespaces/dev/resourceclaims', { metadata: { name: 'plain' }, ...device({}) })
  await created('/api/v1/namespaces/dev/pods', {
    metadata: { name: 'p' },
    spec: {
      nodeName: 'n1',
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'i' }],
      volumes: [
        { name: 's', secret: { secretName: 'used' } },
        { name: 't', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
      ],
    },
  })
  const pod = await ask('root', 'GET', '/api/v1/namespaces/dev/pods/p')
  boundToPod.uid = (pod.body['metadata'] as { uid: string }).uid
  const { body } = await ask('root', 'POST', '/api/v1/namespaces/dev/serviceaccounts/default/token', { spec: {} })
  const token = (body['status'] as { token: string }).token
  const foreign = await ask('root', 'POST', '/api/v1/namespaces/dev/serviceaccounts/default/token', { spec: { audiences: ['vault'] } })
  who['pod'] = { headers: { authorization: `Bearer ${token}` } }
  who['podWithForeignToken'] = { headers: { authorization: `Bearer ${(foreign.body['status'] as { token: string }).token}` } }
  who['podWithForgedToken'] = { headers: { authorization: `Bearer ${forged(token)}` } }
})
after(async () => {
  agent.destroy()
  await cluster[Symbol.asyncDispose]()
  rmSync(auditDirectory, { recursive: true, force: true })
})

async function created(path: string, object: object): Promise<void> {
  const { status, body } = await ask('root', 'POST', path, object)
  assert.equal(status, 201, `${path}: ${JSON.stringify(body)}`)
}

const bound = (name: string, role: string) =>
  created('/apis/rbac.authorization.k8s.io/v1/namespaces/dev/rolebindings', {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name }],
  })

function forged(token: string): string {
  const [head, body = '', tail] = token.split('.')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
  claims['kubernetes.io'].namespace = 'kube-system'
  claims.sub = 'system:serviceaccount:kube-system:default'
  return [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), tail].join('.')
}

function ask(name: string, method: string, path: string, body?: object, more: Record<string, string | string[]> = {}): Promise<Reply> {
  const { cert, key, headers = {} } = who[name] ?? {}
  const text = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      `${cluster.url}${path}`,
      {
        method,
        ca,
        agent,
        ...(cert === undefined ? {} : { cert, key }),
        headers: { ...(text ? { 'content-type': 'application/json' } : {}), ...headers, ...more },
      },
      async (response) => {
        let answer = ''
        for await (const chunk of response) answer += String(chunk)
        resolve({ status: response.statusCode ?? 0, body: answer.startsWith('{') ? JSON.parse(answer) : { answer } })
      },
    )
    request.on('error', (error: NodeJS.ErrnoException) => {
      // Of a connection that was kept the server may have had enough in this moment.
      const wasClosed = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      if (wasClosed) resolve(ask(name, method, path, body, more))
      else reject(error)
    })
    request.end(text)
  })
}

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const clusterAdmin = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }
const me = (name: string) => [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name }]
const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
const impersonating = (user: string, ...groups: string[]) => ({
  'Impersonate-User': user,
  ...(groups.length > 0 ? { 'Impersonate-Group': groups } : {}),
})

const admission = '/apis/admissionregistration.k8s.io/v1'
const policy = {
  metadata: { name: 'peek' },
  spec: {
    paramKind: { apiVersion: 'v1', kind: 'Secret' },
    matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }] },
    validations: [{ expression: 'false', messageExpression: 'string(params.data)' }],
  },
}
const policyBinding = {
  metadata: { name: 'peek' },
  spec: {
    policyName: 'none',
    paramRef: { name: 'used', namespace: 'dev', parameterNotFoundAction: 'Deny' },
    validationActions: ['Deny'],
  },
}
const device = (more: object) => ({ spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', ...more } }] } } })
const adminClaim = { metadata: { name: 'all' }, ...device({ adminAccess: true }) }
const reserved = { status: { reservedFor: [{ resource: 'pods', name: 'p', uid: '1' }] } }
const merge = { 'content-type': 'application/merge-patch+json' }
const boundToPod = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'filled in' }

type Attempt = [
  who: string,
  method: string,
  path: string,
  expected: number,
  body?: object | undefined,
  headers?: Record<string, string | string[]>,
]
const attempts: Record<string, Attempt[]> = {
  'to read a secret': [
    ['nobody', 'GET', '/api/v1/secrets', 403],
    ['nobody', 'GET', '/api/v1/namespaces/dev/secrets/used', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/secrets', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/secrets?watch=true', 403],
    ['viewer', 'GET', '/api/v1/watch/namespaces/dev/secrets', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/secrets/used?fieldSelector=metadata.name%3Dused', 403],
    ['viewer', 'GET', '/api/v1//namespaces/dev/secrets/used', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/./secrets/used', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/pods/../secrets/used', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/%73ecrets/used', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/secrets?limit=1&continue=x', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/secrets', 403, undefined, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' }],
    ['viewer', 'GET', '/api/v1/namespaces/dev/secrets/used', 403, undefined, { accept: 'application/vnd.kubernetes.protobuf' }],
    ['viewer', 'HEAD', '/api/v1/namespaces/dev/secrets/used', 403],
    ['viewer', 'DELETE', '/api/v1/namespaces/dev/secrets', 403],
    ['viewer', 'PATCH', '/api/v1/namespaces/dev/secrets/used', 403, {}],
    ['owner', 'GET', '/api/v1/secrets', 403],
    ['owner', 'GET', '/api/v1/namespaces/kube-system/secrets', 403],
    ['pod', 'GET', '/api/v1/namespaces/dev/secrets/used', 403],
    ['n1', 'GET', '/api/v1/namespaces/dev/secrets/unused', 403],
    ['n1', 'GET', '/api/v1/namespaces/dev/secrets', 403],
    ['n2', 'GET', '/api/v1/namespaces/dev/secrets/used', 403],
  ],
  'to come in with a bad credential': [
    ['selfMade', 'GET', '/api/v1/secrets', 401],
    ['podWithForgedToken', 'GET', '/version', 401],
    ['podWithForeignToken', 'GET', '/version', 401],
    ['nobody', 'GET', '/version', 401, undefined, { authorization: 'Bearer nonsense' }],
  ],
  'to be somebody else': [
    ['nobody', 'GET', '/api/v1/secrets', 403, undefined, impersonating('root', 'system:masters')],
    ['viewer', 'GET', '/api/v1/nodes', 403, undefined, impersonating('root', 'system:masters')],
    ['viewer', 'GET', '/api/v1/nodes', 400, undefined, { 'Impersonate-Group': 'system:masters' }],
    ['owner', 'GET', '/api/v1/nodes', 403, undefined, impersonating('viewer')],
    ['owner', 'GET', '/api/v1/secrets', 403, undefined, impersonating('system:serviceaccount:kube-system:generic-garbage-collector')],
    ['n1', 'GET', '/api/v1/namespaces/dev/secrets/unused', 403, undefined, impersonating('system:node:n2', 'system:nodes')],
    ['nobody', 'GET', '/api/v1/secrets', 403, undefined, { 'X-Remote-User': 'root', 'X-Remote-Group': 'system:masters' }],
    ['viewer', 'GET', '/api/v1/secrets', 403, undefined, { 'X-Remote-User': 'root', 'X-Remote-Group': 'system:masters' }],
    ['otherProxy', 'GET', '/api/v1/secrets', 401, undefined, { 'X-Remote-User': 'root', 'X-Remote-Group': 'system:masters' }],
    ['viewer', 'GET', '/api/v1/nodes', 403, undefined, { ...impersonating('viewer'), 'Impersonate-Uid': '1' }],
    ['viewer', 'GET', '/api/v1/nodes', 403, undefined, { ...impersonating('viewer'), 'Impersonate-Extra-scopes': 'all' }],
    ['viewer', 'GET', '/api/v1/secrets', 403, undefined, { 'X-Forwarded-User': 'root', 'X-Forwarded-For': '127.0.0.1' }],
  ],
  'to get more rights': [
    ['owner', 'GET', '/api/v1/namespaces/default/configmaps', 403],
    ['owner', 'POST', '/api/v1/namespaces/default/configmaps', 403, { metadata: { name: 'a' } }],
    ['pod', 'POST', `${admission}/validatingadmissionpolicies`, 403, policy],
    ['policyMaker', 'POST', `${admission}/validatingadmissionpolicies`, 422, policy],
    ['policyMaker', 'POST', `${admission}/validatingadmissionpolicybindings`, 422, policyBinding],
    ['owner', 'POST', '/apis/resource.k8s.io/v1/namespaces/dev/resourceclaims', 422, adminClaim],
    ['policyMaker', 'POST', '/apis/resource.k8s.io/v1/namespaces/dev/resourceclaims', 422, adminClaim],
    ['policyMaker', 'PATCH', '/apis/resource.k8s.io/v1/namespaces/dev/resourceclaims/plain/status', 422, reserved, merge],
    [
      'viewer',
      'POST',
      `${rbac}/namespaces/dev/rolebindings`,
      403,
      { metadata: { name: 'x' }, roleRef: clusterAdmin, subjects: me('viewer') },
    ],
    ['owner', 'POST', `${rbac}/namespaces/dev/roles`, 403, { metadata: { name: 'x' }, rules: everything }],
    [
      'owner',
      'POST',
      `${rbac}/namespaces/dev/rolebindings`,
      403,
      { metadata: { name: 'x' }, roleRef: clusterAdmin, subjects: me('owner') },
    ],
    ['owner', 'POST', `${rbac}/clusterrolebindings`, 403, { metadata: { name: 'x' }, roleRef: clusterAdmin, subjects: me('owner') }],
    ['owner', 'POST', `${rbac}/clusterroles`, 403, { metadata: { name: 'x' }, rules: everything }],
    ['owner', 'POST', '/api/v1/namespaces/kube-system/serviceaccounts/default/token', 403, { spec: {} }],
    ['pod', 'POST', '/api/v1/namespaces/dev/serviceaccounts/default/token', 403, { spec: {} }],
    ['owner', 'POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests', 403, {}],
  ],
  'to be another node': [
    ['n1', 'GET', '/api/v1/nodes/n2', 403],
    ['n1', 'GET', '/api/v1/nodes', 403],
    ['n2', 'GET', '/api/v1/namespaces/dev/pods/p', 403],
    ['n1', 'GET', '/api/v1/pods', 403],
    ['n1', 'GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn2', 403],
    ['n2', 'POST', '/api/v1/namespaces/dev/serviceaccounts/default/token', 403, { spec: {} }],
    ['n1', 'POST', '/api/v1/namespaces/dev/serviceaccounts/default/token', 403, { spec: {} }],
    ['n2', 'POST', '/api/v1/namespaces/dev/serviceaccounts/default/token', 403, { spec: { boundObjectRef: boundToPod } }],
    ['n1', 'POST', '/api/v1/nodes', 403, { metadata: { name: 'n3' } }],
    ['n1', 'PATCH', '/api/v1/nodes/n2/status', 403, { status: { phase: 'x' } }, merge],
    ['n1', 'PATCH', '/api/v1/nodes/n1', 403, { metadata: { labels: { 'node-restriction.kubernetes.io/zone': 'x' } } }, merge],
    ['n1', 'PATCH', '/api/v1/nodes/n1', 403, { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }, merge],
    ['n2', 'DELETE', '/api/v1/namespaces/dev/pods/p', 403],
    ['n2', 'POST', '/api/v1/namespaces/dev/pods/p/eviction', 403, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } }],
    ['n2', 'PATCH', '/api/v1/namespaces/dev/pods/p/status', 403, { status: { phase: 'Failed' } }, merge],
    [
      'n1',
      'POST',
      '/api/v1/namespaces/dev/pods',
      403,
      { metadata: { name: 'x' }, spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] } },
    ],
    ['n1', 'PUT', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n2', 403, { metadata: { name: 'n2' }, spec: {} }],
  ],
  'to reach a kubelet or a container': [
    ['viewer', 'GET', '/api/v1/nodes/n1/proxy/pods', 403],
    ['owner', 'GET', '/api/v1/nodes/n1/proxy/run', 403],
    ['viewer', 'POST', '/api/v1/namespaces/dev/pods/p/exec?command=sh', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/pods/p/proxy/', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/pods/p/portforward', 403],
    ['pod', 'GET', '/api/v1/namespaces/dev/pods/p/log', 403],
    ['policyMaker', 'GET', '/api/v1/namespaces/dev/pods/p/exec?command=sh', 403],
    ['policyMaker', 'GET', '/api/v1/namespaces/dev/pods/p/portforward', 403],
    ['n1', 'POST', '/api/v1/namespaces/dev/pods/p/exec?command=sh', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/services/https:x:443/proxy/', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/services/169.254.169.254:80/proxy/latest/meta-data', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/pods/http:p:10250/proxy/../../../../secrets', 403],
    ['viewer', 'GET', '/api/v1/namespaces/dev/pods/p%2Fproxy%2F..%2F..%2Fsecrets', 404],
    ['owner', 'GET', '/api/v1/proxy/nodes/n1/pods', 403],
    ['owner', 'POST', '/api/v1/nodes/n1/proxy/exec/dev/p/c?command=sh', 403],
    ['n1', 'GET', '/api/v1/nodes/n2/proxy/pods', 403],
    ['nobody', 'GET', '/metrics', 403],
    ['nobody', 'GET', '/logs', 403],
    ['viewer', 'GET', '/debug/pprof/', 403],
  ],
}
for (const [aim, list] of Object.entries(attempts)) {
  for (const [name, method, path, expected, body, headers] of list) {
    const how = headers === undefined ? '' : ` with ${Object.keys(headers).join(', ')}`
    test(`${aim}: ${name} cannot ${method} ${path}${how}`, async () => {
      const { status, body: answer } = await ask(name, method, path, body, headers)
      assert.equal(status, expected, JSON.stringify(answer))
    })
  }
}

const allowed: Attempt[] = [
  ['policyMaker', 'POST', '/apis/resource.k8s.io/v1/namespaces/dra/resourceclaims', 201, adminClaim],
  ['n1', 'POST', '/api/v1/namespaces/dev/serviceaccounts/default/token', 201, { spec: { boundObjectRef: boundToPod } }],
  ['n1', 'GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn1', 200],
  ['viewer', 'GET', '/api/v1/namespaces/dev/pods/p', 200],
  ['owner', 'GET', '/api/v1/namespaces/dev/secrets/used', 200],
  ['n1', 'GET', '/api/v1/namespaces/dev/secrets/used', 200],
  ['n1', 'GET', '/api/v1/nodes/n1', 200],
  ['pod', 'GET', '/version', 200],
  ['nobody', 'GET', '/livez', 200],
]
for (const [name, method, path, expected, body, headers] of allowed) {
  test(`what is allowed stays so: ${name} may ${method} ${path}`, async () => {
    const { status, body: answer } = await ask(name, method, path, body, headers)
    assert.equal(status, expected, JSON.stringify(answer))
  })
}

test('whoever has not said who they are may do nothing to any resource of any version', async () => {
  const asRoot = async (path: string) => (await ask('root', 'GET', path)).body
  const paths = await everyResourcePath(asRoot)
  assert.ok(paths.length > 800, `${paths.length} requests`)
  const answers = await inLanes(paths, async ({ method, path }) => {
    const { status } = await ask('nobody', method, path, method === 'GET' || method === 'DELETE' ? undefined : {})
    return status === 403 ? '' : `${method} ${path}: ${status}`
  })
  assert.deepEqual(answers.filter(Boolean), [])
})

test('of the other paths only health and version are shown to them', async () => {
  const paths = await everyOtherPath(async (path) => (await ask('root', 'GET', path)).body)
  assert.ok(paths.length > 50, `${paths.length} paths`)
  const answers = await inLanes(paths, async (path) => ((await ask('nobody', 'GET', path)).status === 200 ? path : ''))
  assert.deepEqual(
    answers.filter((path) => path !== '' && !/^\/(healthz|livez|readyz)(\/|$)|^\/version\/?$/.test(path)),
    [],
  )
})

async function inLanes<T>(items: readonly T[], answer: (item: T) => Promise<string>): Promise<string[]> {
  const answers: string[] = []
  let next = 0
  const lane = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) answers.push(await answer(item))
  }
  await Promise.all(Array.from({ length: 8 }, lane))
  return answers
}

test('neither the log nor the audit log holds what is in secrets, or a credential', async () => {
  const marker = 'not-for-anybody-else'
  const hidden = Buffer.from(marker).toString('base64')
  const at = '/api/v1/namespaces/dev/secrets'
  await ask('root', 'POST', at, { metadata: { name: 'marked' }, stringData: { marker } })
  await ask('root', 'POST', at, { metadata: { name: 'Not A Name' }, stringData: { marker } })
  await ask('root', 'PUT', `${at}/marked`, { metadata: { name: 'marked' }, data: { marker: hidden, wrong: 5 } })
  await ask('root', 'PATCH', `${at}/marked`, { data: { marker: hidden }, type: 'another' }, merge)
  await ask('root', 'GET', `${at}/marked`)
  const { body } = await ask('root', 'POST', '/api/v1/namespaces/dev/serviceaccounts/default/token', { spec: {} })
  const { token } = body['status'] as { token: string }
  await ask('nobody', 'GET', '/api/v1/nodes', undefined, { authorization: `Bearer ${marker}` })
  const log = cluster.output()
  const record = readFileSync(join(auditDirectory, 'audit.log'), 'utf8')
  assert.match(record, /"resource":"secrets"/)
  for (const [name, text] of Object.entries({ log, record })) {
    for (const secret of [marker, hidden, token, cluster.token])
      assert.ok(!text.includes(secret), `the ${name} holds ${secret.slice(0, 12)}`)
  }
})

test('nothing older than TLS 1.2 is spoken, and no cipher that is known to be weak', async () => {
  const { hostname, port } = new URL(cluster.url)
  const spoken = (options: ConnectionOptions) =>
    new Promise<string | undefined>((resolve) => {
      const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options }, () => {
        resolve(socket.getProtocol() ?? undefined)
        socket.destroy()
      })
      socket.on('error', () => resolve(undefined))
      socket.on('close', () => resolve(undefined))
    })
  assert.equal(await spoken({}), 'TLSv1.3')
  assert.equal(await spoken({ maxVersion: 'TLSv1.2' }), 'TLSv1.2')
  // The client takes anything: it is the server that refuses.
  const anything = { maxVersion: 'TLSv1.2', minVersion: 'TLSv1' } as const
  assert.equal(await spoken({ ...anything, maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }), undefined)
  for (const ciphers of ['eNULL', 'aNULL', 'AES128-SHA', 'AES256-SHA', 'CAMELLIA128-SHA']) {
    assert.equal(await spoken({ ...anything, ciphers: `${ciphers}:@SECLEVEL=0` }), undefined, ciphers)
  }
})

test('tokens of service accounts are signed with a key that nothing else uses', () => {
  const pki = join(cluster.directory, 'data', 'pki')
  const keys = readdirSync(pki, { encoding: 'utf8' }).filter((name) => name.endsWith('.key'))
  assert.ok(keys.includes('sa.key') && keys.length > 2, keys.join())
  const contents = keys.map((name) => readFileSync(join(pki, name), 'utf8'))
  assert.equal(new Set(contents).size, keys.length)
})

test('the default namespace holds nothing of the cluster but the Service of the API server', async () => {
  for (const [path, expected] of Object.entries({
    '/api/v1/namespaces/default/pods': [],
    '/api/v1/namespaces/default/secrets': [],
    '/api/v1/namespaces/default/services': ['kubernetes'],
    '/apis/apps/v1/namespaces/default/deployments': [],
    '/apis/apps/v1/namespaces/default/daemonsets': [],
  })) {
    const { body } = await ask('root', 'GET', path)
    const names = (body['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)
    assert.deepEqual(names, expected, path)
  }
})

test('keys and kubeconfigs are for their owner alone', () => {
  const data = join(cluster.directory, 'data')
  for (const name of readdirSync(data, { recursive: true, encoding: 'utf8' })) {
    // Some come and go.
    const { mode } = statSync(join(data, name), { throwIfNoEntry: false }) ?? { mode: 0 }
    assert.equal(mode & 0o022, 0, `${name} may be written by others`)
    if (/\.(key|pem|kubeconfig)$/.test(name)) assert.equal(mode & 0o077, 0, `${name} may be read by others`)
  }
})
