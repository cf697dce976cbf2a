/** Who gets into a running server, as whom: for each authenticator one credential that is taken, and some that are not. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type JWTPayload, SignJWT } from 'jose'
import { readAuthority } from '#apiserver/pki/authority.ts'
import type { AuthorityName } from '#apiserver/pki/identities.ts'
import { type Ask, asker, basic, bearer, type Credential, whoIs } from '../support/ask.ts'
import { clientCertificates } from '../support/client-certificates.ts'
import { type OutsideServices, startOutsideServices } from '../support/outside-services.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const serviceAccountIssuer = 'https://cluster.example'
const extraKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const root = bearer('test-token')

let cluster: RunningCluster
let outside: OutsideServices
let ask: Ask
const credentials: Record<string, Credential> = {}

before(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn access '))
  const file = (name: string, content: string) => {
    writeFileSync(join(directory, name), content)
    return join(directory, name)
  }
  outside = await startOutsideServices({
    '/tokens': ({ token }) => tokenStatus(String(token)),
    '/permissions': ({ user, resourceAttributes }) => ({
      allowed: user === 'wanda' && (resourceAttributes as { resource?: string } | undefined)?.resource === 'configmaps',
      reason: 'the service says so',
    }),
    '/images': ({ containers }) => {
      const isEvil = (containers as { image: string }[]).some(({ image }) => image.startsWith('evil'))
      return isEvil ? { allowed: false, reason: 'evil' } : { allowed: true }
    },
  })
  const plugins = {
    PodSecurity: {
      apiVersion: 'pod-security.admission.config.k8s.io/v1',
      kind: 'PodSecurityConfiguration',
      defaults: { enforce: 'baseline' },
    },
    PodNodeSelector: { podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: 'tier=standard' } },
    EventRateLimit: { limits: [{ type: 'Namespace', qps: 1, burst: 2 }] },
    ResourceQuota: {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'ResourceQuotaConfiguration',
      limitedResources: [{ resource: 'services', matchContains: ['services.loadbalancers'] }],
    },
    PodTolerationRestriction: { default: [{ key: 'given', operator: 'Exists' }] },
    ImagePolicyWebhook: { imagePolicy: { kubeConfigFile: file('images.kubeconfig', outside.kubeconfig('/images')) } },
  }
  const admission = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: Object.entries(plugins).map(([name, configuration]) => ({ name, configuration })),
  }
  const flags = {
    'token-auth-file': file('tokens.csv', 'file-token,jane,42,"dev,ops"\n'),
    'basic-auth-file': file('passwords.csv', 'open sesame,bob,7,dev\n'),
    'oidc-issuer-url': outside.issuer,
    'oidc-client-id': 'typernetes',
    'oidc-username-prefix': 'oidc:',
    'oidc-groups-claim': 'groups',
    'oidc-groups-prefix': 'oidc:',
    'oidc-required-claim': 'team=blue',
    'oidc-ca-file': file('outside-ca.crt', outside.authority),
    'authentication-token-webhook-config-file': file('token-webhook.kubeconfig', outside.kubeconfig('/tokens')),
    'authentication-token-webhook-version': 'v1',
    'authorization-mode': 'Node,RBAC,ABAC,Webhook',
    'authorization-policy-file': file(
      'policies.jsonl',
      `${JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec: { user: 'bob', namespace: 'default', resource: 'pods', apiGroup: '*', readonly: true } })}\n`,
    ),
    'authorization-webhook-config-file': file('authorization-webhook.kubeconfig', outside.kubeconfig('/permissions')),
    'authorization-webhook-version': 'v1',
    'service-account-issuer': serviceAccountIssuer,
    'service-account-key-file': file('extra.pub', extraKey.publicKey.export({ format: 'pem', type: 'spki' }).toString()),
    'service-account-max-token-expiration': '2h',
    'admission-control-config-file': file('admission.json', JSON.stringify(admission)),
    'enable-admission-plugins': ['NodeRestriction', ...Object.keys(plugins)].join(','),
  }
  cluster = await startCluster(
    [
      ...['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false'],
      ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
    ],
    directory,
  )
  const pki = join(directory, 'data', 'pki')
  const authority = (name: AuthorityName) =>
    readAuthority(name, readFileSync(join(pki, `${name}.crt`), 'utf8'), readFileSync(join(pki, `${name}.key`), 'utf8'))
  ask = asker(cluster.url, authority('ca').certificatePem)
  Object.assign(credentials, clientCertificates(authority('ca'), authority('front-proxy-ca')))
  await serviceAccountCredentials()
  await bootstrapTokens()
})
after(async () => {
  await cluster?.[Symbol.asyncDispose]()
  await outside?.[Symbol.asyncDispose]()
})

function tokenStatus(token: string): object {
  if (token === 'broken') return { authenticated: false, error: 'the token is broken' }
  const user = { username: 'wanda', groups: ['guests'] }
  if (token === 'for-others') return { authenticated: true, user, audiences: ['https://others.example'] }
  return token === 'webhook-token' ? { authenticated: true, user } : { authenticated: false }
}

async function serviceAccountCredentials(): Promise<void> {
  for (const name of ['default', 'robot']) await created('/api/v1/namespaces/default/serviceaccounts', { metadata: { name } })
  const account = await ask(root, 'GET', '/api/v1/namespaces/default/serviceaccounts/robot')
  const { uid } = account.body['metadata'] as { uid: string }
  const issued = async (spec: object) => {
    const { body } = await ask(root, 'POST', '/api/v1/namespaces/default/serviceaccounts/robot/token', { spec })
    return (body['status'] as { token: string }).token
  }
  const seconds = Math.floor(Date.now() / 1000)
  const signed = (claims: JWTPayload) =>
    new SignJWT({
      iss: serviceAccountIssuer,
      aud: [serviceAccountIssuer],
      sub: 'system:serviceaccount:default:robot',
      iat: seconds - 7200,
      exp: seconds + 600,
      'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'robot', uid } },
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256' })
      .sign(extraKey.privateKey)
  await created(
    '/api/v1/namespaces/default/pods',
    aPod('short-lived', { serviceAccountName: 'robot', automountServiceAccountToken: false }),
  )
  const bound = await issued({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'short-lived' } })
  await ask(root, 'DELETE', '/api/v1/namespaces/default/pods/short-lived?gracePeriodSeconds=0')
  const good = await issued({})
  Object.assign(credentials, {
    'service account': bearer(good),
    'service account, signed by a further key': bearer(await signed({})),
    'service account, expired': bearer(await signed({ exp: seconds - 3600 })),
    'service account, for another audience': bearer(await issued({ audiences: ['https://vault.example'] })),
    'service account, of another issuer': bearer(await signed({ iss: 'https://kubernetes.default.svc' })),
    'service account, tampered with': bearer(tampered(good)),
    'service account, whose pod is gone': bearer(bound),
  } satisfies Record<string, Credential>)
}

/** The claims of another account over the same signature. */
function tampered(token: string): string {
  const [head, body = '', tail] = token.split('.')
  const claims = Buffer.from(body, 'base64url').toString().replaceAll('robot', 'admin')
  return [head, Buffer.from(claims).toString('base64url'), tail].join('.')
}

async function bootstrapTokens(): Promise<void> {
  const make = (id: string, data: Record<string, string>) =>
    created('/api/v1/namespaces/kube-system/secrets', {
      metadata: { name: `bootstrap-token-${id}` },
      type: 'bootstrap.kubernetes.io/token',
      stringData: { 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true', ...data },
    })
  await make('aaaaaa', { 'auth-extra-groups': 'system:bootstrappers:workers' })
  await make('bbbbbb', { expiration: new Date(Date.now() - 1000).toISOString().replace(/\.\d+/, '') })
  await make('cccccc', { 'usage-bootstrap-authentication': 'false' })
}

const aPod = (name: string, spec: object = {}) => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } })

async function created(path: string, object: object): Promise<void> {
  const { status, body } = await ask(root, 'POST', path, object)
  assert.equal(status, 201, `${path}: ${JSON.stringify(body)}`)
}

type Case = [what: string, credential: () => Credential | Promise<Credential>, name: string, groups: string[]]
const kept = (name: string) => () => credentials[name] ?? {}
const identityToken = (claims?: JWTPayload, key?: 'other key') => async () =>
  bearer(await outside.identityToken({ team: 'blue', ...claims }, key))

const accepted: Case[] = [
  ['a certificate', kept('certificate'), 'carl', ['dev']],
  ['a front proxy', kept('front proxy'), 'remo', ['far', 'away']],
  ['a token from the file', () => bearer('file-token'), 'jane', ['dev', 'ops']],
  ['a password from the file', () => basic('bob', 'open sesame'), 'bob', ['dev']],
  [
    'a service account',
    kept('service account'),
    'system:serviceaccount:default:robot',
    ['system:serviceaccounts', 'system:serviceaccounts:default'],
  ],
  [
    'a service account token signed by a key from a file',
    kept('service account, signed by a further key'),
    'system:serviceaccount:default:robot',
    ['system:serviceaccounts', 'system:serviceaccounts:default'],
  ],
  [
    'a bootstrap token',
    () => bearer('aaaaaa.0123456789abcdef'),
    'system:bootstrap:aaaaaa',
    ['system:bootstrappers', 'system:bootstrappers:workers'],
  ],
  ['an identity token', identityToken(), 'oidc:ada', ['oidc:readers']],
  ['a token that the webhook knows', () => bearer('webhook-token'), 'wanda', ['guests']],
]
for (const [what, credential, name, groups] of accepted) {
  test(`${what} makes one ${name}`, async () => {
    assert.deepEqual(await whoIs(ask, await credential()), { username: name, groups: [...groups, 'system:authenticated'] })
  })
}

const seconds = Math.floor(Date.now() / 1000)
const refused: [what: string, credential: () => Credential | Promise<Credential>][] = [
  ...['certificate, expired', 'certificate of another authority', 'certificate of a server'].map(
    (name) => [name, kept(name)] as [string, () => Credential],
  ),
  ...['front proxy, expired', 'front proxy of another name', 'front proxy of another authority'].map(
    (name) => [name, kept(name)] as [string, () => Credential],
  ),
  ['a part of a token from the file', () => bearer('file-toke')],
  ['a longer token than the one in the file', () => bearer('file-tokens')],
  ['a token from the file in capitals', () => bearer('FILE-TOKEN')],
  ['a wrong password', () => basic('bob', 'open')],
  ["another user's password", () => basic('jane', 'open sesame')],
  ['a password without a name', () => ({ headers: { authorization: `Basic ${Buffer.from('open sesame').toString('base64')}` } })],
  ...['service account, expired', 'service account, for another audience', 'service account, of another issuer'].map(
    (name) => [name, kept(name)] as [string, () => Credential],
  ),
  ...['service account, tampered with', 'service account, whose pod is gone'].map(
    (name) => [name, kept(name)] as [string, () => Credential],
  ),
  ['a bootstrap token that has expired', () => bearer('bbbbbb.0123456789abcdef')],
  ['a bootstrap token that is not for this', () => bearer('cccccc.0123456789abcdef')],
  ['a bootstrap token with another secret', () => bearer('aaaaaa.fedcba9876543210')],
  ['an identity token that has expired', identityToken({ exp: seconds - 60 })],
  ['an identity token for another audience', identityToken({ aud: 'others' })],
  ['an identity token of another issuer', identityToken({ iss: 'https://elsewhere.example' })],
  ['an identity token without a claim that is required', identityToken({ team: 'red' })],
  ['an identity token signed by another key', identityToken({}, 'other key')],
  [
    'an identity token that was tampered with',
    async () => bearer((await outside.identityToken({ team: 'blue' })).replace(/.{8}$/, 'AAAAAAAA')),
  ],
  ['a token that the webhook does not know', () => bearer('nobody-knows')],
  ['a token that the webhook refuses', () => bearer('broken')],
  ['a token that the webhook knows for others', () => bearer('for-others')],
]
for (const [what, credential] of refused) {
  test(`${what} is refused`, async () => assert.equal(await whoIs(ask, await credential()), undefined))
}

test('the webhook is asked once for a token, and told what for', async () => {
  for (let count = 0; count < 3; count++) await whoIs(ask, bearer('webhook-token'))
  const asked = outside.asked.get('/tokens')?.filter(({ spec }) => spec['token'] === 'webhook-token') ?? []
  assert.deepEqual(
    asked.map(({ apiVersion, spec }) => [apiVersion, spec['audiences']]),
    [['authentication.k8s.io/v1', [serviceAccountIssuer]]],
  )
})

test('nobody gets to read versions and health, and no further', async () => {
  const statuses = await Promise.all(
    ['/version', '/livez', '/api/v1/pods', '/openapi/v2'].map(async (path) => (await ask({}, 'GET', path)).status),
  )
  assert.deepEqual(statuses, [200, 200, 403, 403])
})

test('tokens of service accounts live no longer than they may', async () => {
  const { body, warnings } = await ask(root, 'POST', '/api/v1/namespaces/default/serviceaccounts/robot/token', {
    spec: { expirationSeconds: 86400 },
  })
  assert.equal((body['spec'] as { expirationSeconds: number }).expirationSeconds, 7200)
  assert.match(warnings.join(), /requested expiration of 86400 seconds shortened to 7200 seconds/)
})

const permissions: [who: () => Credential, method: string, path: string, status: number][] = [
  [() => basic('bob', 'open sesame'), 'GET', '/api/v1/namespaces/default/pods', 200],
  [() => basic('bob', 'open sesame'), 'GET', '/api/v1/namespaces/kube-system/pods', 403],
  [() => basic('bob', 'open sesame'), 'DELETE', '/api/v1/namespaces/default/pods/x', 403],
  [() => bearer('webhook-token'), 'GET', '/api/v1/namespaces/default/configmaps', 200],
  [() => bearer('webhook-token'), 'GET', '/api/v1/namespaces/default/secrets', 403],
  [() => bearer('file-token'), 'GET', '/api/v1/namespaces/default/configmaps', 403],
]
for (const [who, method, path, expected] of permissions) {
  test(`policies and the service decide on ${method} ${path}: ${expected}`, async () => {
    const { status, body } = await ask(who(), method, path)
    assert.equal(status, expected, JSON.stringify(body))
  })
}

test('plugins do what their configuration says', async () => {
  const pods = '/api/v1/namespaces/default/pods'
  const forbidden = async (path: string, object: object, why: RegExp, status = 403) => {
    const reply = await ask(root, 'POST', path, object)
    assert.equal(reply.status, status, JSON.stringify(reply.body))
    assert.match(String(reply.body['message']), why)
  }
  await forbidden(
    pods,
    aPod('host', { hostNetwork: true, automountServiceAccountToken: false }),
    /violates PodSecurity "baseline:latest": host namespaces/,
  )
  await forbidden(
    pods,
    aPod('evil', { containers: [{ name: 'c', image: 'evil/app' }] }),
    /image policy webhook backend denied one or more images: evil/,
  )
  const ports = { metadata: { name: 'lb' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } }
  await forbidden('/api/v1/namespaces/default/services', ports, /insufficient quota to consume: services.loadbalancers/)
  const event = (name: string) => ({ metadata: { name }, involvedObject: { namespace: 'default' } })
  const beganMs = performance.now()
  const replies = await Promise.all(
    Array.from({ length: 60 }, (_, index) => ask(root, 'POST', '/api/v1/namespaces/default/events', event(`e${index}`))),
  )
  const takenSeconds = (performance.now() - beganMs) / 1000
  const turnedAway = replies.filter(({ status }) => status === 429)
  for (const { body } of turnedAway) assert.match(String(body['message']), /limit reached on type Namespace for key default/)
  const taken = replies.filter(({ status }) => status === 201).length
  assert.equal(taken + turnedAway.length, replies.length)
  // Two at once, and one more each second that this took.
  assert.ok(taken >= 2 && taken <= 2 + takenSeconds, `${taken} in ${takenSeconds} s`)
  const { body } = await ask(root, 'POST', pods, aPod('placed'))
  const { nodeSelector, tolerations } = body['spec'] as { nodeSelector: object; tolerations: { key: string }[] }
  assert.deepEqual(nodeSelector, { tier: 'standard' })
  assert.ok(tolerations.some(({ key }) => key === 'given'))
})

test('200 who create at once get no more pods than the quota has', async () => {
  await created('/api/v1/namespaces', { metadata: { name: 'tight' } })
  await created('/api/v1/namespaces/tight/serviceaccounts', { metadata: { name: 'default' } })
  await created('/api/v1/namespaces/tight/resourcequotas', { metadata: { name: 'few' }, spec: { hard: { pods: '50' } } })
  // The usage of a quota is counted by its controller, which does not run here.
  await ask(
    root,
    'PATCH',
    '/api/v1/namespaces/tight/resourcequotas/few/status',
    { status: { hard: { pods: '50' }, used: { pods: '0' } } },
    merge,
  )
  const session = connect(cluster.url, { rejectUnauthorized: false })
  const create = (index: number) =>
    new Promise<number>((resolve, reject) => {
      const request = session.request({
        ':method': 'POST',
        ':path': '/api/v1/namespaces/tight/pods',
        authorization: 'Bearer test-token',
        'content-type': 'application/json',
      })
      request.on('response', (headers) => resolve(Number(headers[':status'])))
      request.on('error', reject)
      request.resume()
      request.end(JSON.stringify(aPod(`p${index}`)))
    })
  const statuses = await Promise.all(Array.from({ length: 200 }, (_, index) => create(index)))
  session.destroy()
  const count = (status: number) => statuses.filter((each) => each === status).length
  assert.deepEqual([count(201), count(403)], [50, 150])
  const { body } = await ask(root, 'GET', '/api/v1/namespaces/tight/pods')
  assert.equal((body['items'] as object[]).length, 50)
  const quota = await ask(root, 'GET', '/api/v1/namespaces/tight/resourcequotas/few')
  assert.deepEqual((quota.body['status'] as { used: object }).used, { pods: '50' })
})

const merge = { 'content-type': 'application/merge-patch+json' }

const noKubectl = spawnSync('kubectl', ['version', '--client']).status === 0 ? false : 'there is no kubectl here'
const listed: [who: string[], expected: RegExp, absent: RegExp][] = [
  [['bob'], /^pods\.\* +\[\] +\[\] +\[get list watch\]$/m, /secrets/],
  [['system:node:n1', '--as-group', 'system:nodes'], /^selfsubjectreviews/m, /^\*\.\*/m],
]
for (const [who, expected, absent] of listed) {
  test(`kubectl auth can-i --list --as ${who.join(' ')}`, { skip: noKubectl }, () => {
    const args = [
      '--kubeconfig',
      cluster.kubeconfig,
      '--cache-dir',
      join(cluster.directory, 'cache'),
      'auth',
      'can-i',
      '--list',
      '--as',
      ...who,
    ]
    const { stdout, stderr } = spawnSync('kubectl', args, { encoding: 'utf8' })
    assert.match(stdout, expected, stderr)
    assert.doesNotMatch(stdout, absent)
  })
}
