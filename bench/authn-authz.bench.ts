/** What it costs to know who makes a request and whether he may, in a cluster with 5,000 role bindings; and to make the keys of a new cluster. */
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { anonymousAuthenticator } from '#apiserver/authn/anonymous.ts'
import { withAuthenticatedGroup } from '#apiserver/authn/authenticated-group.ts'
import type { Authenticator, Credentials } from '#apiserver/authn/authenticator.ts'
import { bearerTokenAuthenticator } from '#apiserver/authn/bearer-token.ts'
import { requestHeaderAuthenticator, standardRequestHeaders } from '#apiserver/authn/request-header.ts'
import { serviceAccountTokenAuthenticator } from '#apiserver/authn/service-account/token-authenticator.ts'
import { TokenSigner } from '#apiserver/authn/service-account/token-signer.ts'
import { otherwise, unionAuthenticator } from '#apiserver/authn/union.ts'
import { x509Authenticator } from '#apiserver/authn/x509.ts'
import { authorizerChain, privilegedGroup } from '#apiserver/authz/chain.ts'
import { nodeAuthorizer } from '#apiserver/authz/node/node-authorizer.ts'
import { NodeGraph } from '#apiserver/authz/node/node-graph.ts'
import { defaultRbacObjects } from '#apiserver/authz/rbac/default-roles.ts'
import { RbacAuthorizer } from '#apiserver/authz/rbac/rbac-authorizer.ts'
import type { RbacKinds } from '#apiserver/authz/rbac/rbac-objects.ts'
import { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { clusterIdentities, nodeIdentities } from '#apiserver/pki/identities.ts'
import { openKeyDirectory } from '#apiserver/pki/key-directory.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { systemRandom } from '#base/random.ts'
import type { Bench } from '../scripts/bench.ts'

const bindings = 5000
const audiences = ['https://kubernetes.default.svc']
const identities = [
  ...clusterIdentities({ hostName: 'bench', serviceIp: '10.96.0.1', clusterDomain: 'cluster.local', addresses: [] }),
  ...nodeIdentities('n1', []),
]

export default async function run(bench: Bench): Promise<void> {
  const keys = await firstStart(bench)
  const clock = systemClock
  const lookups = {
    lookupServiceAccount: (_: string, name: string) => ({ metadata: { name, uid: 'u' } }),
    lookupSecret: () => undefined,
    lookupPod: (_: string, name: string) => ({ metadata: { name, uid: 'p' }, spec: { nodeName: 'n1' } }),
    lookupNode: () => undefined,
  }
  const publicKeys = keys.serviceAccountKeys.publicKeys
  const anchors = { ca: [keys.authority('ca').certificate], proxy: [keys.authority('front-proxy-ca').certificate] }
  const tokens = serviceAccountTokenAuthenticator({
    issuers: audiences,
    keys: () => publicKeys,
    serverAudiences: audiences,
    lookups,
    clock,
  })
  const authenticator: Authenticator = otherwise(
    withAuthenticatedGroup(
      unionAuthenticator([
        requestHeaderAuthenticator({ anchors: () => anchors.proxy, clock, allowedNames: [], ...standardRequestHeaders }),
        x509Authenticator(() => anchors.ca, clock),
        bearerTokenAuthenticator(tokens, audiences),
      ]),
    ),
    anonymousAuthenticator(),
  )

  const { rbac, names } = cluster()
  const authorizer = authorizerChain([privilegedGroup('system:masters'), nodeAuthorizer({ graph: new NodeGraph(), rules: [] }), rbac])

  const signer = new TokenSigner({
    issuer: audiences[0] ?? '',
    privateKey: () => keys.serviceAccountKeys.privateKey,
    clock,
    random: systemRandom,
  })
  const signed = names.slice(0, 500).map((name) => {
    const content = {
      audiences,
      namespace: 'ns-0',
      serviceAccount: { name, uid: 'u' },
      pod: { name: 'p', uid: 'p' },
      expirationSeconds: 3600,
    }
    return `Bearer ${signer.sign(content).token}`
  })
  const certificate = new X509Certificate(keys.identity('scheduler').certificatePem)

  const request = (index: number, credentials: Credentials) => {
    const result = authenticator.authenticate(credentials)
    if (result === undefined || result instanceof Promise) throw new Error('a promise was made where none is needed')
    const authorization = authorizer.authorize({
      user: result.user,
      verb: index % 3 === 0 ? 'list' : 'get',
      group: '',
      version: 'v1',
      resource: 'pods',
      subresource: '',
      namespace: `ns-${index % 500}`,
      name: 'p',
      path: '/api/v1/namespaces/ns/pods/p',
      isResourceRequest: true,
    })
    if (authorization instanceof Promise) throw new Error('a promise was made where none is needed')
    return authorization
  }
  const withToken = (index: number) => {
    // Each request brings its header as a string of its own.
    const authorization = Buffer.from(signed[index % signed.length] ?? '').toString('latin1')
    return { headers: { authorization }, rawHeaders: ['authorization', authorization], path: '/', remoteAddress: '127.0.0.1' }
  }
  const withCertificate = () => ({ headers: {}, rawHeaders: [], path: '/', remoteAddress: '127.0.0.1', clientCertificate: certificate })

  const cases: [string, (index: number) => Credentials][] = [
    ['who and may he, by a service account token', withToken],
    ['who and may he, by a certificate', withCertificate],
  ]
  for (const [name, make] of cases) {
    const { median, p99 } = microseconds(
      20_000,
      (index) => make(index),
      (index, credentials) => request(index, credentials),
    )
    bench.report({
      case: `${name}, ${bindings} role bindings, median`,
      figure: median,
      unit: 'us',
      comparedWith: 'at most 30',
      ratio: median / 30,
    })
    bench.report({ case: `${name}, ${bindings} role bindings, p99`, figure: p99, unit: 'us' })
  }
  const change = microseconds(
    2000,
    (index) => ({
      metadata: { name: `b-${index}`, namespace: `ns-${index % 500}` },
      roleRef: roleRef('edit'),
      subjects: [{ kind: 'User', name: 'jane' }],
    }),
    (_, binding) => rbac.upsert('RoleBinding', binding),
  )
  bench.report({ case: 'a role binding changes, median', figure: change.median, unit: 'us' })
  keys[Symbol.dispose]()
}

/** The keys and certificates of a new cluster, on disk. */
async function firstStart(bench: Bench): Promise<ClusterKeys> {
  const root = mkdtempSync(join(tmpdir(), 'bench-pki-'))
  const open = async (name: string) => {
    const options = { clock: systemClock, random: systemRandom, log: silentLogger }
    return ClusterKeys.open({ ...options, directory: await openKeyDirectory(nodeFiles, join(root, name)) }, identities)
  }
  const times: number[] = []
  for (let round = 0; round < 10; round++) {
    const started = performance.now()
    const keys = await open(`pki-${round}`)
    times.push(performance.now() - started)
    keys[Symbol.dispose]()
  }
  const [first = 0] = times
  bench.report({
    case: 'keys and certificates of a new cluster, first in the process',
    figure: first,
    unit: 'ms',
    comparedWith: 'at most 60',
    ratio: first / 60,
  })
  const started = performance.now()
  const keys = await open('pki-0')
  bench.report({ case: 'keys and certificates read again at the next start', figure: performance.now() - started, unit: 'ms' })
  rmSync(root, { recursive: true })
  return keys
}

const roleRef = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name })

/** The default roles and, on top, bindings for many service accounts in many namespaces. */
function cluster(): { rbac: RbacAuthorizer; names: string[] } {
  const rbac = new RbacAuthorizer()
  for (const { kind, object } of defaultRbacObjects()) rbac.upsert(kind, object as RbacKinds[typeof kind])
  const names = Array.from({ length: bindings }, (_, index) => `robot-${index}`)
  for (const [index, name] of names.entries()) {
    const subjects = [
      { kind: 'ServiceAccount', name, namespace: 'ns-0' },
      { kind: 'Group', name: `team-${index % 50}` },
    ]
    const ref = roleRef(['view', 'system:aggregate-to-view', 'system:aggregate-to-edit'][index % 3] ?? 'view')
    rbac.upsert('RoleBinding', { metadata: { name, namespace: `ns-${index % 500}` }, roleRef: ref, subjects })
  }
  return { rbac, names }
}

/** Each call timed alone, after as many to warm up. */
function microseconds<T>(
  count: number,
  prepare: (index: number) => T,
  run: (index: number, prepared: T) => unknown,
): { median: number; p99: number } {
  for (let index = 0; index < count; index++) run(index, prepare(index))
  const times = new Float64Array(count)
  for (let index = 0; index < count; index++) {
    const prepared = prepare(index)
    const started = process.hrtime.bigint()
    run(index, prepared)
    times[index] = Number(process.hrtime.bigint() - started) / 1000
  }
  times.sort()
  return { median: times[count >> 1] ?? 0, p99: times[Math.floor(count * 0.99)] ?? 0 }
}
