/** Clients that want more than they were given: every way we know of must end in 401 or 403. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { issueIdentity, newAuthority, readAuthority } from '#apiserver/pki/authority.ts'
import type { Identity } from '#apiserver/pki/identities.ts'
import { systemRandom } from '#base/random.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

type Who = { cert?: string; key?: string; headers?: Record<string, string | string[]> }
type Reply = { status: number; body: Record<string, unknown> }

let cluster: RunningCluster
let ca: string
const who: Record<string, Who> = {}

before(async () => {
  cluster = await startCluster(['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false'])
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
after(() => cluster[Symbol.asyncDispose]())

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
        agent: false,
        ...(cert === undefined ? {} : { cert, key }),
        headers: { ...(text ? { 'content-type': 'application/json' } : {}), ...headers, ...more },
      },
      async (response) => {
        let answer = ''
        for await (const chunk of response) answer += String(chunk)
        resolve({ status: response.statusCode ?? 0, body: answer.startsWith('{') ? JSON.parse(answer) : { answer } })
      },
    )
    request.on('error', reject)
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
