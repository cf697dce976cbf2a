/** Access as files describe it, and what goes around it: the insecure port, the user's kubeconfig, certificates, bootstrap tokens. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { openKeyDirectory } from '#apiserver/pki/key-directory.ts'
import { storedIdentities } from '#apiserver/pki/stored-identities.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'
import { encodePem } from '#wire/pem.ts'
import { issueCertificate } from '#wire/x509/certificate.ts'
import { type Ask, asker, bearer, whoIs } from '../support/ask.ts'
import { freePort } from '../support/free-port.ts'
import { type OutsideServices, startOutsideServices } from '../support/outside-services.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const repository = join(import.meta.dirname, '..', '..')
const root = bearer('test-token')
let cluster: RunningCluster
let outside: OutsideServices
let ask: Ask
let insecurePort: number
let userKubeconfig: string
const signingKey = generateKeyPairSync('rsa', { modulusLength: 2048 })

const others = `apiVersion: v1
kind: Config
clusters: [{name: typernetes, cluster: {server: https://elsewhere.example}}]
contexts: [{name: typernetes, context: {cluster: typernetes, user: me}}]
users: [{name: me, user: {token: mine}}]
current-context: typernetes
`

const authentication = (audience: string) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  anonymous: { enabled: true, conditions: [{ path: '/livez' }] },
  jwt: [
    {
      issuer: { url: outside.issuer, audiences: [audience], certificateAuthority: outside.authority },
      claimMappings: { username: { claim: 'sub', prefix: 'id:' }, groups: { claim: 'groups', prefix: '' } },
    },
  ],
})

const authorization = (...types: string[]) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthorizationConfiguration',
  authorizers: [
    {
      type: 'Webhook',
      name: 'outside',
      webhook: {
        timeout: '30s',
        authorizedTTL: '1s',
        unauthorizedTTL: '1s',
        subjectAccessReviewVersion: 'v1',
        matchConditionSubjectAccessReviewVersion: 'v1',
        failurePolicy: 'Deny',
        connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: join(directory, 'webhook.kubeconfig') },
      },
    },
    ...types.map((type) => ({ type, name: type.toLowerCase() })),
  ],
})
const directory = mkdtempSync(join(tmpdir(), 'tn files '))
const file = (name: string, content: string | object) => {
  const path = join(directory, name)
  writeFileSync(`${path}.draft`, typeof content === 'string' ? content : JSON.stringify(content))
  renameSync(`${path}.draft`, path)
  return path
}

before(async () => {
  outside = await startOutsideServices({
    '/permissions': ({ user, resourceAttributes }) => {
      const { resource } = (resourceAttributes ?? {}) as { resource?: string }
      return { allowed: false, denied: user === 'id:ada' && resource === 'secrets', reason: 'not for ada' }
    },
  })
  file('webhook.kubeconfig', outside.kubeconfig('/permissions'))
  userKubeconfig = file('user.kubeconfig', others)
  process.env['KUBECONFIG'] = userKubeconfig
  insecurePort = await freePort()
  const flags = {
    'authentication-config': file('authentication.json', authentication('typernetes')),
    'authorization-config': file('authorization.json', authorization('Node', 'RBAC')),
    'service-account-signing-key-file': file('sa.key', signingKey.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()),
    'insecure-port': String(insecurePort),
  }
  cluster = await startCluster(
    [
      ...['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false', '--merge-kubeconfig'],
      ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
    ],
    directory,
  )
  ask = asker(cluster.url, readFileSync(join(directory, 'data', 'pki', 'ca.crt'), 'utf8'))
})
after(async () => {
  await cluster?.[Symbol.asyncDispose]()
  await outside?.[Symbol.asyncDispose]()
})

test('anonymous requests are let in where the file says, and nowhere else', async () => {
  const statuses = await Promise.all(['/livez', '/version', '/readyz'].map(async (path) => (await ask({}, 'GET', path)).status))
  assert.deepEqual(statuses, [200, 401, 401])
})

test('users of an issuer in the file get in, until the file says otherwise', async () => {
  const ada = bearer(await outside.identityToken())
  const grace = bearer(await outside.identityToken({ sub: 'grace', aud: 'changed' }))
  assert.deepEqual(await whoIs(ask, ada), { username: 'id:ada', groups: ['readers', 'system:authenticated'] })
  assert.equal(await whoIs(ask, grace), undefined)
  file('authentication.json', authentication('changed'))
  await until(async () => (await whoIs(ask, grace)) !== undefined)
  assert.equal(await whoIs(ask, bearer(await outside.identityToken({ sub: 'ann' }))), undefined)
  file('authentication.json', authentication('typernetes'))
  await until(async () => (await whoIs(ask, bearer(await outside.identityToken({ sub: 'ann' })))) !== undefined)
})

test('authorizers are asked in the order of the file, and those of a changed file from then on', async () => {
  const binding = {
    metadata: { name: 'ada' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'id:ada' }],
  }
  await ask(root, 'POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding)
  const ada = bearer(await outside.identityToken())
  const status = async (resource: string) => (await ask(ada, 'GET', `/api/v1/${resource}`)).status
  assert.deepEqual([await status('pods'), await status('secrets')], [200, 403])
  file('authorization.json', 'nonsense')
  assert.deepEqual([await status('pods'), await status('secrets')], [200, 403])
  file('authorization.json', authorization('Node'))
  await until(async () => (await status('pods')) === 403)
  file('authorization.json', authorization('Node', 'RBAC'))
  await until(async () => (await status('pods')) === 200)
})

test('tokens are signed with the key from the file, and its public half is published', async () => {
  await ask(root, 'POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } })
  const { body } = await ask(root, 'POST', '/api/v1/namespaces/default/serviceaccounts/robot/token', { spec: {} })
  const { token } = body['status'] as { token: string }
  const { alg, kid } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
  assert.equal(alg, 'RS256')
  assert.equal((await whoIs(ask, bearer(token)))?.username, 'system:serviceaccount:default:robot')
  const published = await ask(bearer(token), 'GET', '/openid/v1/jwks')
  assert.ok((published.body['keys'] as { kid: string }[]).some((key) => key.kid === kid))
  const discovered = await ask(bearer(token), 'GET', '/.well-known/openid-configuration')
  assert.equal(discovered.body['issuer'], 'https://kubernetes.default.svc')
})

test('whoever reaches the insecure port may do anything, as system:unsecured', async () => {
  const insecurely = asker(`http://127.0.0.1:${insecurePort}`)
  assert.deepEqual(await whoIs(insecurely, {}), { username: 'system:unsecured', groups: ['system:masters', 'system:authenticated'] })
  assert.equal((await insecurely({}, 'GET', '/api/v1/secrets')).status, 200)
  for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }, { origin: 'null' }])
    assert.equal((await insecurely({}, 'GET', '/api/v1/secrets', undefined, headers)).status, 403, JSON.stringify(headers))
})

test("the cluster is a context of the user's kubeconfig, and everything else in it is as it was", () => {
  const text = readFileSync(userKubeconfig, 'utf8')
  for (const kept of ['https://elsewhere.example', 'token: mine', 'current-context: typernetes\n']) assert.ok(text.includes(kept), kept)
  assert.ok(text.includes('name: typernetes-2') && text.includes(`server: ${cluster.url}`), text)
})

function typernetes(...args: string[]): string {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [join(repository, 'src/cmd/main.ts'), ...args, '--data-dir', join(directory, 'data')],
    {
      encoding: 'utf8',
    },
  )
  return stdout + stderr
}

test('certificates are shown and renewed, and a running server takes them over', async () => {
  const status = typernetes('certs', 'status')
  for (const line of [
    /^ca +CN=kubernetes +20\d\d-/m,
    /^admin +ca +O=system:masters, CN=kubernetes-admin /m,
    /^front-proxy-client +front-proxy-ca /m,
  ])
    assert.match(status, line)
  const before = readFileSync(cluster.kubeconfig, 'utf8')
  assert.equal(typernetes('certs', 'renew', 'admin', 'apiserver'), 'Renewed: admin, apiserver\n')
  await until(async () => readFileSync(cluster.kubeconfig, 'utf8') !== before)
  assert.equal((await ask(root, 'GET', '/api/v1/namespaces')).status, 200)
  assert.match(typernetes('certs', 'renew', 'nothing'), /there is no certificate "nothing"; there are ca, /)
})

test('bootstrap tokens are made, listed and deleted', async () => {
  const token = typernetes('token', 'create', '--description', 'for a node', '--ttl', '1h').trim()
  assert.match(token, /^[a-z0-9]{6}\.[a-z0-9]{16}$/)
  assert.deepEqual((await whoIs(ask, bearer(token)))?.groups.slice(0, 2), [
    'system:bootstrappers',
    'system:bootstrappers:kubeadm:default-node-token',
  ])
  assert.match(typernetes('token', 'list'), new RegExp(`^${token} +20.* for a node$`, 'm'))
  assert.equal(typernetes('token', 'delete', token), `Deleted: ${token.slice(0, 6)}\n`)
  assert.equal(await whoIs(ask, bearer(token)), undefined)
})

test('certificates about to expire: those of the cluster are renewed without a failed request', async () => {
  const { ca, short } = await shortLived(120_000)
  const connect = () => whoIs(asker(cluster.url, ca), adminCredential())
  await short('admin')
  const { notAfterMs } = await short('apiserver')
  const failed: string[] = []
  const lastsLonger = (certificate: string | Buffer) => new X509Certificate(certificate).validToDate.getTime() > notAfterMs + 1000
  await until(async () => {
    const who = await connect().catch((error: unknown) => ({ username: String(error) }))
    if (who?.username !== 'kubernetes-admin') failed.push(`${new Date().toISOString()}: ${who?.username ?? 'refused'}`)
    const files = ['admin', 'apiserver'].map((name) => readFileSync(pki(`${name}.pem`)))
    return [...files, adminCredential().cert, await servedCertificate(ca)].every(lastsLonger)
  })
  assert.equal((await connect())?.username, 'kubernetes-admin')
  assert.deepEqual(failed, [])
})

test('one that cannot be renewed expires: log and status say which and what to do; a new file ends it, without a restart', async () => {
  const { ca, short } = await shortLived(2000)
  // Its owner keeps it elsewhere.
  rmSync(pki('ca.key'))
  await short('apiserver')
  const refusal = () => whoIs(asker(cluster.url, ca), root).then(() => '', String)
  await until(async () => /certificate has expired/.test(await refusal()))
  const told = /the certificate in .*apiserver\.pem has expired at 20\S+Z: replace the file, it is read again without a restart/
  await until(async () => told.test(cluster.output()))
  assert.match(await status(), told)
  await short('apiserver', 3_600_000)
  await until(async () => (await refusal()) === '')
  assert.doesNotMatch(await status(), /has expired/)
})

/** Meanwhile the server asks this process what is permitted. */
async function status(): Promise<string> {
  const words = [join(repository, 'src/cmd/main.ts'), 'status', '--data-dir', join(directory, 'data')]
  const { stdout, stderr } = await nodeProcesses.run(process.execPath, words)
  return stdout + stderr
}

const pki = (name: string) => join(directory, 'data', 'pki', name)

function servedCertificate(ca: string): Promise<Buffer> {
  const { hostname: host, port } = new URL(cluster.url)
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host, port: Number(port), ca }, () => {
      resolve(socket.getPeerCertificate().raw)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

function adminCredential() {
  const text = readFileSync(cluster.kubeconfig, 'utf8')
  const [cert, key] = ['certificate', 'key'].map((what) =>
    Buffer.from(new RegExp(`client-${what}-data: "?([^"\\s]+)`).exec(text)?.[1] ?? '', 'base64').toString(),
  )
  return { cert: cert ?? '', key: key ?? '' }
}

/** Puts certificates of the cluster's authority, as they were but with a short life, where those of the cluster are. */
async function shortLived(lifeMs: number) {
  const keys = await openKeyDirectory(nodeFiles, pki(''))
  const ca = (await keys.readAuthority('ca')) ?? assert.fail()
  const identities = await storedIdentities(keys)
  return {
    ca: ca.certificatePem,
    async short(name: string, ms = lifeMs) {
      const { subject, usages, subjectAltNames } = identities.find((identity) => identity.name === name) ?? assert.fail()
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      // Whatever can be renewed is renewed with a third of it left: at once.
      const life = { notBeforeMs: Date.now() - 3_600_000, notAfterMs: Date.now() + ms }
      const content = { ...life, serialNumber: randomBytes(16), subject, publicKey, extendedKeyUsages: usages }
      const der = issueCertificate({ ...content, ...(subjectAltNames && { subjectAltNames }) }, ca.signer ?? assert.fail())
      const privateKeyPem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
      await keys.writeIdentity(name, { ...life, certificatePem: encodePem('CERTIFICATE', der), privateKeyPem })
      return life
    },
  }
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isTrue()); tries++) {
    if (tries > 2400) throw new Error('what was waited for did not happen')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
