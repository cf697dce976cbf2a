import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { type AuthResult, type TokenAuthenticator, Unauthenticated } from '#apiserver/authn/authenticator.ts'
import type { ClusterLookups } from '#apiserver/authn/cluster-lookups.ts'
import { keyIdOf, signJwt } from '#apiserver/authn/service-account/jwt.ts'
import {
  invalidSinceLabel,
  lastUsedLabel,
  legacyServiceAccountTokenAuthenticator,
  legacyTokenClaims,
} from '#apiserver/authn/service-account/legacy-token-authenticator.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const server = ['https://kubernetes.default.svc']
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })

type Objects = Record<string, { metadata: { name: string; uid: string; labels?: Record<string, string> }; [key: string]: unknown }>

function cluster(change: Objects, gone: string[]): ClusterLookups {
  const objects: Objects = { 'sa/default/sa': { metadata: { name: 'sa', uid: 'sa-1' } }, ...change }
  const find = (key: string) => (gone.includes(key) ? undefined : objects[key])
  return {
    lookupServiceAccount: (namespace, name) => find(`sa/${namespace}/${name}`),
    lookupSecret: (namespace, name) => find(`secret/${namespace}/${name}`),
    lookupPod: () => undefined,
    lookupNode: () => undefined,
  } as ClusterLookups
}

function ask(authenticator: TokenAuthenticator, token: string): AuthResult | undefined {
  const outcome = authenticator.authenticateToken(token, server)
  assert.ok(!(outcome instanceof Promise))
  return outcome
}

const legacyToken = signJwt(legacyTokenClaims('default', { name: 'sa', uid: 'sa-1' }, 'token'), ec.privateKey)
const legacySecret = (token = legacyToken, labels: Record<string, string> = {}): Objects => ({
  'secret/default/token': { metadata: { name: 'token', uid: 'secret-1', labels }, data: { token: Buffer.from(token).toString('base64') } },
})

function legacy(change: Objects = legacySecret(), gone: string[] = []) {
  const labelled: Record<string, string>[] = []
  const authenticator = legacyServiceAccountTokenAuthenticator({
    keys: () => keysOfLegacy,
    serverAudiences: server,
    lookups: cluster(change, gone),
    clock: new VirtualClock('2026-01-01T12:00:00Z'),
    labelSecret: (_, labels) => labelled.push(labels),
  })
  return { authenticator, labelled }
}
const keysOfLegacy = [ec.publicKey]

test('a token in a secret is accepted, and the secret gets the date of its use', () => {
  const { authenticator, labelled } = legacy()
  assert.deepEqual(ask(authenticator, legacyToken), {
    user: {
      name: 'system:serviceaccount:default:sa',
      uid: 'sa-1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default'],
      extra: {},
    },
    audiences: server,
    warnings: undefined,
    auditAnnotations: {
      'authentication.k8s.io/legacy-token': 'system:serviceaccount:default:sa',
      'authentication.k8s.io/legacy-token-manual-secret': 'token',
    },
  })
  assert.deepEqual(labelled, [{ [lastUsedLabel]: '2026-01-01' }])
})

test('the date is written once a day', () => {
  for (const day of ['2026-01-01', '2026-01-02']) {
    const { authenticator, labelled } = legacy(legacySecret(legacyToken, { [lastUsedLabel]: day }))
    ask(authenticator, legacyToken)
    assert.deepEqual(labelled, [], day)
  }
})

test('a token that was made by itself is accepted with a warning', () => {
  const { authenticator } = legacy({
    ...legacySecret(),
    'sa/default/sa': { metadata: { name: 'sa', uid: 'sa-1' }, secrets: [{ name: 'token' }] },
  })
  assert.match(ask(authenticator, legacyToken)?.warnings?.[0] ?? '', /^Use tokens from the TokenRequest API/)
})

const refusedLegacy: [string, Objects, string[], string, RegExp][] = [
  ['whose secret is gone', {}, ['secret/default/token'], legacyToken, /^Token has been invalidated$/],
  ['whose secret holds another', legacySecret('other'), [], legacyToken, /Token does not match server's copy/],
  ['whose service account is gone', legacySecret(), ['sa/default/sa'], legacyToken, /serviceaccounts "sa" not found/],
  [
    'whose service account is another',
    { ...legacySecret(), 'sa/default/sa': { metadata: { name: 'sa', uid: 'x' } } },
    [],
    legacyToken,
    /ServiceAccount UID \(x\) does not match claim \(sa-1\)/,
  ],
  [
    'that was marked invalid',
    legacySecret(legacyToken, { [invalidSinceLabel]: '2025-01-01' }),
    [],
    legacyToken,
    /has been marked invalid. Use tokens from the TokenRequest API/,
  ],
  [
    'of another key',
    {},
    [],
    signJwt(legacyTokenClaims('default', { name: 'sa', uid: 'sa-1' }, 'token'), other.privateKey, keyIdOf(ec.publicKey)),
    /cryptographic primitive/,
  ],
  [
    'with a subject that does not fit',
    {},
    [],
    signJwt(
      { ...legacyTokenClaims('default', { name: 'sa', uid: 'sa-1' }, 'token'), sub: 'system:serviceaccount:kube-system:admin' },
      ec.privateKey,
    ),
    /sub claim is invalid/,
  ],
  [
    'without a secret',
    {},
    [],
    signJwt({ ...legacyTokenClaims('default', { name: 'sa', uid: 'sa-1' }, '') }, ec.privateKey),
    /secretName claim is missing/,
  ],
]
for (const [what, change, gone, token, message] of refusedLegacy) {
  test(`a secret's token ${what} is refused`, () => {
    assert.throws(
      () => ask(legacy(change, gone).authenticator, token),
      (error) => error instanceof Unauthenticated && message.test(error.message),
    )
  })
}
