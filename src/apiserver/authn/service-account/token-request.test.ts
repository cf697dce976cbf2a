import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { V1TokenRequest } from '#api/authentication/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { StatusError } from '#api/meta/status-error.ts'
import { parseJwt } from '#apiserver/authn/service-account/jwt.ts'
import { type TokenRequestLookups, TokenRequests } from '#apiserver/authn/service-account/token-request.ts'
import { TokenSigner } from '#apiserver/authn/service-account/token-signer.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const issuer = 'https://kubernetes.default.svc'
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const clock = new VirtualClock('2026-01-01T00:00:00Z')
const lookups: TokenRequestLookups = {
  lookupServiceAccount: (namespace, name) => (namespace === 'ns' && name === 'sa' ? { metadata: { name, uid: 'sa-1' } } : undefined),
  lookupSecret: (_, name) => (name === 's' ? { metadata: { name, uid: 'secret-1' } } : undefined),
  lookupNode: (name) => (name === 'n1' ? { metadata: { name, uid: 'node-1' } } : undefined),
  lookupPod: (_, name) => {
    const pods: Record<string, { nodeName?: string; serviceAccountName: string }> = {
      web: { nodeName: 'n1', serviceAccountName: 'sa' },
      lost: { nodeName: 'gone', serviceAccountName: 'sa' },
      waiting: { serviceAccountName: 'sa' },
      other: { nodeName: 'n1', serviceAccountName: 'admin' },
    }
    return pods[name] === undefined ? undefined : { metadata: { uid: `${name}-1` }, spec: pods[name] }
  },
}
const options = {
  signer: new TokenSigner({ issuer, privateKey: () => privateKey, clock, random: seededRandom(1) }),
  serverAudiences: [issuer],
  clock,
  lookups,
}
const requests = new TokenRequests(options)
const valid = (_request: V1TokenRequest, check: Check<V1TokenRequest>) => assert.equal(check.failed, false)

function answer(
  spec: V1TokenRequest['spec'],
  metadata: V1TokenRequest['metadata'] = {},
  over: Partial<ConstructorParameters<typeof TokenRequests>[0]> = {},
) {
  const all = Object.keys(over).length === 0 ? requests : new TokenRequests({ ...options, ...over })
  const answered = all.answer(all.prepare({ metadata, spec }, 'ns', 'sa', valid))
  return { ...answered, claims: parseJwt(answered.request.status?.token ?? '')?.claims ?? {} }
}

test('what is not said is filled in', () => {
  const { request, auditAnnotations, claims } = answer({ expirationSeconds: 3600 })
  const { token, ...status } = request.status ?? {}
  assert.ok(token)
  assert.deepEqual(
    [request.metadata, request.spec, status],
    [
      { name: 'sa', namespace: 'ns', uid: 'sa-1', creationTimestamp: '2026-01-01T00:00:00Z' },
      { audiences: [issuer], boundObjectRef: null, expirationSeconds: 3600 },
      { expirationTimestamp: '2026-01-01T01:00:00Z' },
    ],
  )
  assert.deepEqual(auditAnnotations, { 'authentication.kubernetes.io/issued-credential-id': `JTI=${claims['jti']}` })
})

const bindings: [string, string, object][] = [
  ['Pod', 'web', { pod: { name: 'web', uid: 'web-1' }, node: { name: 'n1', uid: 'node-1' } }],
  ['Pod', 'lost', { pod: { name: 'lost', uid: 'lost-1' }, node: { name: 'gone' } }],
  ['Pod', 'waiting', { pod: { name: 'waiting', uid: 'waiting-1' } }],
  ['Node', 'n1', { node: { name: 'n1', uid: 'node-1' } }],
  ['Secret', 's', { secret: { name: 's', uid: 'secret-1' } }],
]
for (const [kind, name, expected] of bindings) {
  test(`a token may be bound to ${kind} ${name}`, () => {
    const { claims } = answer({ boundObjectRef: { kind, apiVersion: 'v1', name }, expirationSeconds: 600 })
    const { namespace: _, serviceaccount: __, ...bound } = claims['kubernetes.io'] as Record<string, unknown>
    assert.deepEqual(bound, expected)
  })
}

const refused: [string, V1TokenRequest['spec'], V1TokenRequest['metadata'], number, string][] = [
  [
    'another name',
    {},
    { name: 'other' },
    422,
    'TokenRequest.authentication.k8s.io "sa" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified',
  ],
  [
    'another namespace',
    {},
    { namespace: 'x' },
    422,
    'TokenRequest.authentication.k8s.io "sa" is invalid: metadata.namespace: Invalid value: "x": must match the service account namespace if specified',
  ],
  [
    'another uid',
    {},
    { uid: 'x' },
    409,
    'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "sa": the UID in the token request (x) does not match the UID of the service account (sa-1)',
  ],
  ['a pod that is not there', { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'nope' } }, {}, 404, 'pods "nope" not found'],
  [
    'a secret that is not there',
    { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'nope' } },
    {},
    404,
    'secrets "nope" not found',
  ],
  [
    'the pod of another account',
    { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'other' } },
    {},
    400,
    'cannot bind token for serviceaccount "sa" to pod running with different serviceaccount name.',
  ],
  [
    'a pod that was replaced',
    { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web', uid: 'x' } },
    {},
    409,
    'Operation cannot be fulfilled on Pod "web": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated',
  ],
  [
    'something else',
    { boundObjectRef: { kind: 'ConfigMap', apiVersion: 'v1', name: 'web' } },
    {},
    400,
    'cannot bind token to object of type /v1, Kind=ConfigMap',
  ],
]
for (const [what, spec, metadata, code, message] of refused) {
  test(`asking with ${what} is refused with ${code}`, () => {
    assert.throws(
      () => answer(spec, metadata),
      (error) => error instanceof StatusError && error.code === code && error.message === message,
    )
  })
}

test('tokens that admission asks for live a year, and warn after an hour; others live as long as asked', () => {
  const now = clock.now() / 1000
  const injected = answer({ expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web' } })
  assert.equal(injected.claims['exp'], now + 365 * 24 * 3600)
  assert.equal((injected.claims['kubernetes.io'] as { warnafter: number }).warnafter, now + 3607)
  assert.equal(injected.request.status?.expirationTimestamp, '2026-01-01T01:00:07Z')
  assert.equal(answer({ expirationSeconds: 3607 }).claims['exp'], now + 3607)
  const foreign = answer({ expirationSeconds: 3607, audiences: ['vault'], boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web' } })
  assert.equal(foreign.claims['exp'], now + 3607)
})

test('a longest life may be set, and is warned of', () => {
  const { request, warnings } = answer({ expirationSeconds: 7200 }, {}, { maxExpirationSeconds: 3600 })
  assert.equal(request.spec.expirationSeconds, 3600)
  assert.deepEqual(warnings, ['requested expiration of 7200 seconds shortened to 3600 seconds'])
})

test('an account that is not there is not found', () => {
  assert.throws(() => requests.prepare({ metadata: {}, spec: {} }, 'ns', 'nope', valid), /serviceaccounts "nope" not found/)
})
