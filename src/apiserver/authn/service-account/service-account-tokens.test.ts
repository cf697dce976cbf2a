import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { createLocalJWKSet, importPKCS8, jwtVerify, SignJWT } from 'jose'
import type { AuthOutcome, AuthResult, TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import { Unauthenticated } from '#apiserver/authn/authenticator.ts'
import type { ClusterLookups } from '#apiserver/authn/cluster-lookups.ts'
import { keyIdOf, parseJwt, signJwt } from '#apiserver/authn/service-account/jwt.ts'
import { openIdMetadata } from '#apiserver/authn/service-account/openid-metadata.ts'
import { serviceAccountTokenAuthenticator } from '#apiserver/authn/service-account/token-authenticator.ts'
import { TokenSigner } from '#apiserver/authn/service-account/token-signer.ts'
import { splitServiceAccountUsername } from '#apiserver/authn/service-account/username.ts'
import { seededRandom } from '#base/random.ts'
import { heapKeptBy } from '#base/testing/heap-kept-by.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const issuer = 'https://kubernetes.default.svc'
const server = [issuer]
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

type Objects = Record<
  string,
  { metadata: { name: string; uid: string; deletionTimestamp?: string; labels?: Record<string, string> }; [key: string]: unknown }
>

/** A cluster with a service account `default/sa`, a pod, a secret and a node. */
function cluster(change: Objects = {}, gone: string[] = []): ClusterLookups {
  const objects: Objects = {
    'sa/default/sa': { metadata: { name: 'sa', uid: 'sa-1' } },
    'secret/default/token': { metadata: { name: 'token', uid: 'secret-1' } },
    'pod/default/web': { metadata: { name: 'web', uid: 'pod-1' }, spec: { nodeName: 'n1' } },
    'node/n1': { metadata: { name: 'n1', uid: 'node-1' } },
    ...change,
  }
  const find = (key: string) => (gone.includes(key) ? undefined : objects[key])
  return {
    lookupServiceAccount: (namespace, name) => find(`sa/${namespace}/${name}`),
    lookupSecret: (namespace, name) => find(`secret/${namespace}/${name}`),
    lookupPod: (namespace, name) => find(`pod/${namespace}/${name}`),
    lookupNode: (name) => find(`node/${name}`),
  } as ClusterLookups
}

type Setup = { clock?: VirtualClock; keys?: readonly KeyObject[]; lookups?: ClusterLookups; privateKey?: KeyObject; issuer?: string }

function setUp({
  clock = new VirtualClock(),
  keys = [ec.publicKey, rsa.publicKey],
  lookups = cluster(),
  privateKey = ec.privateKey,
  issuer: own = issuer,
}: Setup = {}) {
  const signer = new TokenSigner({ issuer: own, privateKey: () => privateKey, clock, random: seededRandom(5) })
  const authenticator = serviceAccountTokenAuthenticator({ issuers: [issuer], keys: () => keys, serverAudiences: server, lookups, clock })
  const sign = (content: Partial<Parameters<TokenSigner['sign']>[0]> = {}) =>
    signer.sign({
      audiences: server,
      namespace: 'default',
      serviceAccount: { name: 'sa', uid: 'sa-1' },
      expirationSeconds: 3600,
      ...content,
    }).token
  return { clock, authenticator, sign }
}

function ask(authenticator: TokenAuthenticator, token: string, audiences: readonly string[] = server): AuthResult | undefined {
  const outcome: AuthOutcome | Promise<AuthOutcome> = authenticator.authenticateToken(token, audiences)
  assert.ok(!(outcome instanceof Promise))
  return outcome
}

test('a token tells the service account, and what it is bound to', () => {
  const { authenticator, sign } = setUp()
  const token = sign({ pod: { name: 'web', uid: 'pod-1' }, node: { name: 'n1', uid: 'node-1' } })
  const result = ask(authenticator, token)
  const jti = (parseJwt(token)?.claims['jti'] ?? '') as string
  assert.deepEqual(result, {
    user: {
      name: 'system:serviceaccount:default:sa',
      uid: 'sa-1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default'],
      extra: {
        'authentication.kubernetes.io/credential-id': [`JTI=${jti}`],
        'authentication.kubernetes.io/pod-name': ['web'],
        'authentication.kubernetes.io/pod-uid': ['pod-1'],
        'authentication.kubernetes.io/node-name': ['n1'],
        'authentication.kubernetes.io/node-uid': ['node-1'],
      },
    },
    audiences: server,
  })
  assert.equal(ask(authenticator, token), result, 'the very same object for the very same token')
})

test("the claims are upstream's", () => {
  const { sign } = setUp()
  const parsed = parseJwt(sign({ pod: { name: 'web', uid: 'pod-1' }, node: { name: 'n1', uid: '' }, warnAfterSeconds: 3607 }))
  const now = Date.parse('2026-01-01T00:00:00Z') / 1000
  assert.deepEqual(parsed?.header, { alg: 'ES256', kid: keyIdOf(ec.publicKey) })
  assert.deepEqual(parsed?.claims, {
    aud: server,
    exp: now + 3600,
    iat: now,
    iss: issuer,
    jti: parsed?.claims['jti'],
    'kubernetes.io': {
      namespace: 'default',
      serviceaccount: { name: 'sa', uid: 'sa-1' },
      pod: { name: 'web', uid: 'pod-1' },
      node: { name: 'n1' },
      warnafter: now + 3607,
    },
    nbf: now,
    sub: 'system:serviceaccount:default:sa',
  })
})

for (const [name, keys] of [
  ['ES256', ec],
  ['RS256', rsa],
] as const) {
  test(`${name}: jose believes our tokens by our key set, and we believe what jose signs`, async () => {
    const { authenticator, sign, clock } = setUp({ privateKey: keys.privateKey })
    const { keySet } = openIdMetadata(issuer, [keys.publicKey], { externalAddress: 'host:6443' })
    const { payload } = await jwtVerify(sign(), createLocalJWKSet(JSON.parse(keySet)), {
      issuer,
      audience: issuer,
      currentDate: new Date(clock.now()),
    })
    assert.equal(payload.sub, 'system:serviceaccount:default:sa')
    const key = await importPKCS8(keys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(), name)
    const theirs = await new SignJWT({ 'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'sa', uid: 'sa-1' } } })
      .setProtectedHeader({ alg: name })
      .setIssuer(issuer)
      .setAudience(issuer)
      .setExpirationTime(clock.now() / 1000 + 60)
      .sign(key)
    assert.equal(ask(authenticator, theirs)?.user.name, 'system:serviceaccount:default:sa')
  })
}

const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const claimsOf = (change: Record<string, unknown> = {}) => ({
  iss: issuer,
  sub: 'system:serviceaccount:default:sa',
  aud: server,
  exp: 4_000_000_000,
  'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'sa', uid: 'sa-1' } },
  ...change,
})
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const unsigned = (alg: string) => `${encode({ alg })}.${encode(claimsOf())}.${Buffer.from('x').toString('base64url')}`
/** The classic: a public key used as the secret of an HMAC. */
const keyConfusion = `${encode({ alg: 'HS256' })}.${encode(claimsOf())}.${Buffer.from(ec.publicKey.export({ format: 'der', type: 'spki' })).toString('base64url')}`

function tamper(token: string): string {
  const [head, body, tail] = token.split('.')
  const claims = JSON.parse(Buffer.from(body ?? '', 'base64url').toString())
  claims['kubernetes.io'].serviceaccount.name = 'admin'
  return [head, encode(claims), tail].join('.')
}

const refused: [string, (world: ReturnType<typeof setUp>) => string, RegExp][] = [
  ['of another key', () => signJwt(claimsOf(), other.privateKey), /invalid signature, no keys found/],
  ['of another key under the name of ours', () => signJwt(claimsOf(), other.privateKey, keyIdOf(ec.publicKey)), /cryptographic primitive/],
  ['tampered with', ({ sign }) => tamper(sign()), /cryptographic primitive/],
  ['unsigned', () => unsigned('none'), /cryptographic primitive/],
  ['signed with the public key as a secret', () => keyConfusion, /cryptographic primitive/],
  [
    'for another audience',
    ({ sign }) => sign({ audiences: ['vault'] }),
    /token audiences \["vault"\] is invalid for the target audiences \["https:\/\/kubernetes.default.svc"\]/,
  ],
  ['without our claims', () => signJwt({ iss: issuer, aud: server }, ec.privateKey), /could not be validated/],
]
for (const [what, make, message] of refused) {
  test(`a token ${what} is refused`, () => {
    const world = setUp()
    assert.throws(
      () => ask(world.authenticator, make(world)),
      (error) => error instanceof Unauthenticated && message.test(error.message),
    )
  })
}

test('a token of another issuer, or no token at all, is none of ours', () => {
  const { authenticator } = setUp()
  for (const token of [
    signJwt(claimsOf({ iss: 'https://elsewhere' }), ec.privateKey),
    'abc',
    'a.b.c',
    '..',
    unsigned('none').replace(/\./g, '-'),
  ]) {
    assert.equal(ask(authenticator, token), undefined)
  }
})

test('time: a minute of tolerance on either side, and no more', async () => {
  const { authenticator, sign, clock } = setUp()
  const token = sign()
  await clock.advance({ seconds: 3660 })
  assert.ok(ask(authenticator, token))
  await clock.advance({ seconds: 1 })
  assert.throws(() => ask(authenticator, token), /service account token has expired/)
  const now = clock.now() / 1000
  assert.throws(() => ask(authenticator, signJwt(claimsOf({ nbf: now + 61 }), ec.privateKey)), /not valid yet/)
  assert.throws(() => ask(authenticator, signJwt(claimsOf({ iat: now + 61 }), ec.privateKey)), /issued in the future/)
  assert.ok(ask(authenticator, signJwt(claimsOf({ nbf: now + 59, iat: now + 59 }), ec.privateKey)))
})

const longAgo = '2025-12-31T23:58:59Z'
const justNow = '2025-12-31T23:59:30Z'
const pod = { pod: { name: 'web', uid: 'pod-1' } }
const secret = { secret: { name: 'token', uid: 'secret-1' } }
const node = { node: { name: 'n1', uid: 'node-1' } }
const invalidated: [string, Parameters<ReturnType<typeof setUp>['sign']>[0], Objects, string[], RegExp | undefined][] = [
  ['the service account is gone', {}, {}, ['sa/default/sa'], /serviceaccounts "sa" not found/],
  [
    'the service account is another of the same name',
    {},
    { 'sa/default/sa': { metadata: { name: 'sa', uid: 'sa-2' } } },
    [],
    /service account UID \(sa-2\) does not match claim \(sa-1\)/,
  ],
  [
    'the service account was deleted over a minute ago',
    {},
    { 'sa/default/sa': { metadata: { name: 'sa', uid: 'sa-1', deletionTimestamp: longAgo } } },
    [],
    /service account default\/sa has been deleted/,
  ],
  [
    'the service account was deleted just now',
    {},
    { 'sa/default/sa': { metadata: { name: 'sa', uid: 'sa-1', deletionTimestamp: justNow } } },
    [],
    undefined,
  ],
  ['the pod is gone', pod, {}, ['pod/default/web'], /token has been invalidated/],
  [
    'the pod is another of the same name',
    pod,
    { 'pod/default/web': { metadata: { name: 'web', uid: 'pod-2' } } },
    [],
    /pod UID \(pod-2\) does not match service account pod ref claim \(pod-1\)/,
  ],
  [
    'the pod was deleted over a minute ago',
    pod,
    { 'pod/default/web': { metadata: { name: 'web', uid: 'pod-1', deletionTimestamp: longAgo } } },
    [],
    /token has been invalidated/,
  ],
  ['the node of the pod is gone', { ...pod, ...node }, {}, ['node/n1'], undefined],
  ['the secret is gone', secret, {}, ['secret/default/token'], /token has been invalidated/],
  [
    'the secret is another of the same name',
    secret,
    { 'secret/default/token': { metadata: { name: 'token', uid: 'x' } } },
    [],
    /secret UID \(x\) does not match/,
  ],
  ['the node it is bound to is gone', node, {}, ['node/n1'], /token has been invalidated/],
  ['the node it is bound to is another', node, { 'node/n1': { metadata: { name: 'n1', uid: 'x' } } }, [], /node UID \(x\) does not match/],
]
for (const [what, content, change, gone, message] of invalidated) {
  test(`when ${what}, the token is ${message === undefined ? 'still good' : 'refused'}`, () => {
    const { authenticator, sign } = setUp({ lookups: cluster(change, gone) })
    if (message === undefined) assert.ok(ask(authenticator, sign(content)))
    else assert.throws(() => ask(authenticator, sign(content)), message)
  })
}

test('what changes is noticed at once, though the signature is remembered', () => {
  const gone: string[] = []
  const { authenticator, sign } = setUp({ lookups: cluster({}, gone) })
  const token = sign(pod)
  assert.ok(ask(authenticator, token))
  gone.push('pod/default/web')
  assert.throws(() => ask(authenticator, token), /token has been invalidated/)
})

test('a replaced set of keys is obeyed at once', () => {
  const clock = new VirtualClock()
  let keys: readonly KeyObject[] = [ec.publicKey]
  const authenticator = serviceAccountTokenAuthenticator({
    issuers: [issuer],
    keys: () => keys,
    serverAudiences: server,
    lookups: cluster(),
    clock,
  })
  const token = signJwt(claimsOf(), ec.privateKey)
  assert.ok(ask(authenticator, token))
  keys = [other.publicKey]
  assert.throws(() => ask(authenticator, token), /no keys found/)
})

test('other audiences are told apart, and the shared ones given back', () => {
  const { authenticator, sign } = setUp()
  assert.deepEqual(ask(authenticator, sign({ audiences: ['vault', 'db'] }), ['db', 'x'])?.audiences, ['db'])
  assert.throws(() => ask(authenticator, sign(), ['db']), /invalid for the target audiences \["db"\]/)
})

test('a token past its warning is accepted, and marked for audit', async () => {
  const { authenticator, sign, clock } = setUp()
  const token = sign({ ...pod, expirationSeconds: 365 * 24 * 3600, warnAfterSeconds: 3607 })
  await clock.advance({ seconds: 3607 })
  assert.equal(ask(authenticator, token)?.auditAnnotations, undefined)
  await clock.advance({ seconds: 10 })
  assert.deepEqual(ask(authenticator, token)?.auditAnnotations, {
    'authentication.k8s.io/stale-token': 'subject: system:serviceaccount:default:sa, seconds after warning threshold: 10',
  })
})

test('the discovery documents say where the keys are', () => {
  const { configuration, keySet } = openIdMetadata(issuer, [ec.publicKey, rsa.publicKey], { externalAddress: '10.0.0.1:6443' })
  assert.deepEqual(JSON.parse(configuration), {
    issuer,
    jwks_uri: 'https://10.0.0.1:6443/openid/v1/jwks',
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'RS256'],
  })
  const { keys } = JSON.parse(keySet) as { keys: Record<string, string>[] }
  assert.deepEqual(
    keys.map((key) => Object.keys(key)),
    [
      ['use', 'kid', 'alg', 'kty', 'crv', 'x', 'y'],
      ['use', 'kid', 'alg', 'kty', 'n', 'e'],
    ],
  )
  for (const bad of ['', 'http://x', 'https://x?a', 'https://x#a'])
    assert.throws(() => openIdMetadata(bad, [ec.publicKey], { externalAddress: 'h' }))
})

test('names of service accounts are told from others', () => {
  assert.deepEqual(splitServiceAccountUsername('system:serviceaccount:ns:a.b'), { namespace: 'ns', name: 'a.b' })
  for (const name of [
    'system:serviceaccount:ns',
    'system:serviceaccount:ns:a:b',
    'system:serviceaccount:N:a',
    'system:serviceaccount:ns:',
    'jane',
  ]) {
    assert.equal(splitServiceAccountUsername(name), undefined, name)
  }
})

test("a private key's own public half is found", () => {
  assert.equal(keyIdOf(createPublicKey(ec.privateKey)), keyIdOf(ec.publicKey))
})

test('tokens for thousands of audiences are believed, and not remembered', () => {
  const { authenticator, sign } = setUp()
  const audiences = Array.from({ length: 30_000 }, (_, index) => `audience-${index}`)
  const token = sign({ audiences: [issuer, ...audiences] })
  assert.equal(ask(authenticator, token, audiences.toReversed())?.audiences?.length, 30_000)
  const kept = heapKeptBy(() => {
    for (let index = 0; index < 10; index++) ask(authenticator, sign({ audiences: [issuer, `${index}`, ...audiences] }))
  })
  assert.ok(kept < 5 << 20, `${kept}`)
})

test('a text of dots is no token', () => {
  assert.equal(parseJwt('.'.repeat(3_000_000)), undefined)
  assert.equal(parseJwt('a.b.c.d'), undefined)
})
