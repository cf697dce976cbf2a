import assert from 'node:assert/strict'
import type { webcrypto } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { type AuthOutcome, Unauthenticated } from '#apiserver/authn/authenticator.ts'
import {
  type JwtConfiguration,
  jwtConfigurationOfFlags,
  parseAuthenticationConfiguration,
} from '#apiserver/authn/oidc/authentication-configuration.ts'
import { StructuredAuthentication } from '#apiserver/authn/oidc/structured-authentication.ts'
import { defined } from '#base/defined.ts'
import { type Files, nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { systemRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { selfSigned } from '#testing/self-signed.ts'

const server = ['https://kubernetes.default.svc']

type SigningKey = { privateKey: webcrypto.CryptoKey; jwk: JWK }

async function signingKey(kid: string, alg = 'RS256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** A small OpenID provider on loopback, over TLS. */
class Provider {
  readonly ca: string
  url = ''
  keys: JWK[] = []
  issuer: string | undefined
  isDown = false
  readonly requests: string[] = []
  readonly #server

  constructor() {
    const { cert: certificate, key } = selfSigned()
    this.ca = certificate
    this.#server = createServer({ cert: certificate, key }, (request, response) => {
      this.requests.push(request.url ?? '')
      if (this.isDown) {
        response.writeHead(503).end('down')
      } else if (request.url?.endsWith('/.well-known/openid-configuration') || request.url === '/elsewhere') {
        response
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ issuer: this.issuer ?? this.url, jwks_uri: `${this.url}/keys` }))
      } else if (request.url === '/keys') {
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: this.keys }))
      } else {
        response.writeHead(404).end()
      }
    })
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `https://127.0.0.1:${(this.#server.address() as { port: number }).port}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

const provider = new Provider()
let key: SigningKey
before(async () => {
  key = await signingKey('k1')
  provider.keys = [key.jwk]
  await provider.start()
})
after(() => provider.stop())

const configuration = (change: Partial<JwtConfiguration> = {}): JwtConfiguration => ({
  issuer: provider.url,
  certificateAuthority: provider.ca,
  audiences: ['kubernetes'],
  requiredClaims: {},
  username: { claim: 'sub', prefix: 'oidc:' },
  groups: { claim: 'groups', prefix: 'oidc:' },
  ...change,
})

const clock = new VirtualClock()
const options = (records: LogRecord[] = []) => ({
  http: nodeHttpClient,
  clock,
  random: systemRandom,
  log: recordingLogger(records),
  serverAudiences: server,
  ownIssuers: server,
})

async function start(t: TestContext, change: Partial<JwtConfiguration> = {}, algorithms?: string[]): Promise<StructuredAuthentication> {
  const settings = { ...options(), ...defined({ signingAlgorithms: algorithms }) }
  const authentication = await StructuredAuthentication.fromConfiguration({ jwt: [configuration(change)] }, settings)
  t.after(() => authentication[Symbol.dispose]())
  return authentication
}

type Claims = Record<string, unknown>

function token(claims: Claims = {}, signer: SigningKey = key, header: { kid?: string; alg?: string } = {}): Promise<string> {
  const now = clock.now() / 1000
  const all = { iss: provider.url, aud: 'kubernetes', sub: 'jane', groups: ['devs', 'ops'], exp: now + 600, jti: 'id-1', ...claims }
  return new SignJWT(all).setProtectedHeader({ alg: 'RS256', kid: signer.jwk.kid ?? '', ...header }).sign(signer.privateKey)
}

const ask = async (authentication: StructuredAuthentication, text: string): Promise<AuthOutcome> =>
  authentication.authenticateToken(text, server)

test('an identity token of the provider is accepted, with prefixes', async (t) => {
  const authentication = await start(t)
  assert.deepEqual(authentication.problems, [])
  const text = await token()
  assert.deepEqual(await ask(authentication, text), {
    user: {
      name: 'oidc:jane',
      groups: ['oidc:devs', 'oidc:ops'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=id-1'] },
    },
    audiences: server,
  })
  assert.ok(!(authentication.authenticateToken(text, server) instanceof Promise), 'the second time nothing is waited for')
})

const tampered = (text: string) => {
  const [head, body, tail] = text.split('.')
  const claims = { ...JSON.parse(Buffer.from(body ?? '', 'base64url').toString()), sub: 'root' }
  return [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), tail].join('.')
}

const refused: [string, () => Promise<string>, RegExp][] = [
  ['is expired', () => token({ exp: clock.now() / 1000 - 1 }), /oidc: verify token: oidc: token is expired/],
  ['has no end', () => token({ exp: undefined }), /token is expired/],
  ['is not valid yet', () => token({ nbf: clock.now() / 1000 + 301 }), /before the nbf/],
  ['is for another audience', () => token({ aud: ['vault'] }), /oidc: expected audience in \["kubernetes"\] got \["vault"\]/],
  ['is tampered with', async () => tampered(await token()), /failed to verify signature/],
  ['is signed by another', async () => token({}, await signingKey('k1')), /failed to verify signature/],
  [
    'is signed with an algorithm nobody asked for',
    async () => token({}, await signingKey('k1', 'ES256'), { alg: 'ES256' }),
    /failed to verify signature/,
  ],
  ['has no user name', () => token({ sub: undefined }), /oidc: parse username claims "sub": claim not present/],
  ['has groups that are none', () => token({ groups: { a: 1 } }), /oidc: parse groups claim "groups"/],
]
for (const [what, make, message] of refused) {
  test(`a token that ${what} is refused`, async (t) => {
    const authentication = await start(t)
    await assert.rejects(
      async () => ask(authentication, await make()),
      (error) => error instanceof Unauthenticated && message.test(error.message),
    )
  })
}

test('tokens of other issuers, and what is no token, are none of ours', async (t) => {
  const authentication = await start(t)
  for (const text of [await token({ iss: 'https://elsewhere' }), 'abc', 'a.b.c']) assert.equal(await ask(authentication, text), undefined)
})

test('claims are mapped as configured', async (t) => {
  const cases: [Partial<JwtConfiguration>, Claims, Partial<{ name: string; groups: string[]; uid: string }> | RegExp][] = [
    [{ username: { claim: 'email', prefix: '' } }, { email: 'j@x', email_verified: true }, { name: 'j@x' }],
    [{ username: { claim: 'email', prefix: '' } }, { email: 'j@x' }, { name: 'j@x' }],
    [{ username: { claim: 'email', prefix: '' } }, { email: 'j@x', email_verified: false }, /oidc: email not verified/],
    [{ username: { claim: 'email', prefix: '' } }, { email: 'j@x', email_verified: 'true' }, /oidc: email not verified/],
    [{ groups: { claim: 'role', prefix: 'r:' } }, { role: 'admin' }, { groups: ['r:admin'] }],
    [{}, { groups: undefined }, { groups: [] }],
    [{ uidClaim: 'oid' }, { oid: 'u-1' }, { uid: 'u-1' }],
    [{ requiredClaims: { hd: 'example.com' } }, { hd: 'example.com' }, { name: 'oidc:jane' }],
    [
      { requiredClaims: { hd: 'example.com' } },
      { hd: 'evil.com' },
      /required claim hd value does not match. Got = evil.com, want = example.com/,
    ],
    [{ requiredClaims: { hd: 'example.com' } }, {}, /required claim hd not present in ID token/],
    [{ audiences: ['a', 'b'] }, { aud: ['b', 'c'] }, { name: 'oidc:jane' }],
  ]
  for (const [change, claims, expected] of cases) {
    const authentication = await start(t, change)
    if (expected instanceof RegExp) await assert.rejects(async () => ask(authentication, await token(claims)), expected)
    else assert.partialDeepStrictEqual((await ask(authentication, await token(claims)))?.user, expected)
  }
})

test('other algorithms are taken where asked for, and only known ones may be asked for', async (t) => {
  const es = await signingKey('es', 'ES256')
  provider.keys = [key.jwk, es.jwk]
  t.after(() => {
    provider.keys = [key.jwk]
  })
  const authentication = await start(t, {}, ['ES256'])
  assert.equal((await ask(authentication, await token({}, es, { alg: 'ES256' })))?.user.name, 'oidc:jane')
  await assert.rejects(async () => ask(authentication, await token()), /failed to verify signature/)
  await assert.rejects(start(t, {}, ['HS256']), /oidc: unsupported signing alg: "HS256"/)
})

test('when the provider changes its keys the new one is fetched, and strangers cannot make it be asked without end', async (t) => {
  const authentication = await start(t)
  const next = await signingKey('k2')
  provider.keys = [next.jwk]
  t.after(() => {
    provider.keys = [key.jwk]
  })
  await clock.advance({ seconds: 2 })
  assert.equal((await ask(authentication, await token({}, next)))?.user.name, 'oidc:jane')
  const asked = provider.requests.length
  for (let count = 0; count < 10; count++)
    await assert.rejects(async () => ask(authentication, await token({ jti: String(count) }, await signingKey('k3'))))
  assert.equal(provider.requests.length, asked)
})

test('a provider that is down at the start is looked for until it is there', async (t) => {
  provider.isDown = true
  const authentication = await start(t)
  assert.match(authentication.problems[0] ?? '', /answered 503/)
  await assert.rejects(async () => ask(authentication, await token()), /oidc: authenticator not initialized/)
  provider.isDown = false
  await clock.advance({ seconds: 10 })
  while (authentication.problems.length > 0) await new Promise((resolve) => setImmediate(resolve))
  assert.equal((await ask(authentication, await token()))?.user.name, 'oidc:jane')
})

test('a provider that calls itself something else is not believed', async (t) => {
  provider.issuer = 'https://somebody.else'
  t.after(() => {
    provider.issuer = undefined
  })
  const authentication = await start(t)
  assert.match(authentication.problems[0] ?? '', /issuer did not match the issuer returned by provider/)
})

test('a provider with a certificate of somebody else is not believed', async (t) => {
  const authentication = await start(t, { certificateAuthority: selfSigned().cert })
  assert.match(authentication.problems[0] ?? '', /certificate/)
})

test('the discovery document may lie elsewhere', async (t) => {
  const authentication = await start(t, { discoveryUrl: `${provider.url}/elsewhere` })
  assert.equal((await ask(authentication, await token()))?.user.name, 'oidc:jane')
})

const file = (extra = '', mappings = 'username: {claim: sub, prefix: "a:"}') => `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: ${provider.url}
    audiences: [kubernetes]
    certificateAuthority: |
${provider.ca.replaceAll(/^/gm, '      ')}
  claimMappings:
    ${mappings}
${extra}`

test('a file configures issuers and nobody, and is read again when it changes', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'oidc-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'authentication.yaml')
  writeFileSync(path, file('anonymous: {enabled: true, conditions: [{path: /livez}]}'))
  const records: LogRecord[] = []
  let isTold = false
  const watch: Files['watch'] = (watched, onChange) =>
    nodeFiles.watch(watched, (name) => {
      onChange(name)
      isTold = true
    })
  // So much time as changes take to settle, and no more: the provider answers in time of the machine, and is not waited for for ever.
  const until = async (holds: (record: LogRecord) => boolean) => {
    while (!records.some(holds)) {
      const settleMs = isTold ? 200 : 0
      isTold = false
      await clock.advance(settleMs)
    }
  }
  const authentication = await StructuredAuthentication.fromFile({ ...nodeFiles, watch }, path, options(records))
  t.after(() => authentication[Symbol.dispose]())
  assert.deepEqual(authentication.configuration.anonymous, { enabled: true, paths: ['/livez'] })
  const text = await token()
  assert.equal((await ask(authentication, text))?.user.name, 'a:jane')
  writeFileSync(path, 'broken')
  await until(({ level }) => level === 'error')
  writeFileSync(path, file('', 'username: {claim: sub, prefix: "b:"}'))
  await until(({ message }) => message === 'reloaded AuthenticationConfiguration')
  assert.equal((await ask(authentication, await token()))?.user.name, 'b:jane')
})

test('expressions say who a token stands for, and whether it is let in', async (t) => {
  const mappings = `username: {expression: "claims.sub + '@' + claims.tenant.name"}
    groups: {expression: "claims.?roles.orValue([]).map(role, 'role:' + role)"}
    uid: {expression: "claims.a__dash__b"}
    extra: [{key: example.com/level, valueExpression: "string(int(claims.level))"}]`
  const rules = `  claimValidationRules: [{expression: "claims.level >= 2", message: "the level is too low"}]
  userValidationRules: [{expression: "!user.username.startsWith('system:')", message: "not you"}]`
  const parsed = await parseAuthenticationConfiguration(file(rules, mappings), 'f.yaml', server)
  const authentication = await StructuredAuthentication.fromConfiguration(parsed, options())
  t.after(() => authentication[Symbol.dispose]())
  const claims = { tenant: { name: 'acme' }, roles: ['dev'], 'a-b': 'u1', level: 3 }
  const { user } = (await ask(authentication, await token(claims))) ?? {}
  assert.deepEqual([user?.name, user?.groups, user?.uid, user?.extra['example.com/level']], ['jane@acme', ['role:dev'], 'u1', ['3']])
  const refused: [Claims, string][] = [
    [
      { ...claims, level: 1 },
      "oidc: error evaluating claim validation expression: validation expression 'claims.level >= 2' failed: the level is too low",
    ],
    [
      { ...claims, sub: 'system:x' },
      "oidc: error evaluating user info validation rule: validation expression '!user.username.startsWith('system:')' failed: not you",
    ],
    [
      { ...claims, tenant: {} },
      "oidc: error evaluating username claim expression: expression 'claims.sub + '@' + claims.tenant.name' resulted in error: no such key: name",
    ],
  ]
  for (const [changed, message] of refused) await assert.rejects(async () => ask(authentication, await token(changed)), { message })
})

test('what a file may not say', async () => {
  const cases: [string, RegExp][] = [
    [
      file('', 'username: {expression: nope.sub}'),
      /jwt\[0\]\.claimMappings\.username\.expression: Invalid value: "nope.sub": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope'/,
    ],
    [file('', 'username: {expression: claims.email}'), /claims\.email_verified must be used in claimMappings\.username\.expression or/],
    [
      file('', 'username: {expression: claims.sub, claim: sub}'),
      /claimMappings\.username: Invalid value: "": claim and expression can't both be set/,
    ],
    [file('', 'username: {claim: sub}'), /claimMappings\.username\.prefix: Required value: prefix is required when claim is set/],
    [
      file('  userValidationRules: [{expression: "claims.sub"}]'),
      /userValidationRules\[0\]\.expression: Invalid value: "claims.sub": compilation failed/,
    ],
    [
      file('  claimValidationRules: [{expression: "1"}]'),
      /claimValidationRules\[0\]\.expression: Invalid value: "1": must evaluate to bool/,
    ],
    [
      file('  claimValidationRules: [{expression: "true"}, {expression: "true"}]'),
      /claimValidationRules\[1\]\.expression: Duplicate value: "true"/,
    ],
    [file('anonymous: {enabled: false, conditions: [{path: /x}]}'), /enabled should be set to true when conditions are defined/],
    [file().replace('kubernetes]', 'a, b]'), /audienceMatchPolicy must be MatchAny for multiple audiences/],
    [file().replace(provider.url, 'http://x'), /issuer\.url: Invalid value: "http:\/\/x": URL scheme must be https/],
    [file().replace(provider.url, server[0] ?? ''), /URL must not overlap with disallowed issuers/],
    [file('surprise: 1'), /unknown field "surprise"/],
    [file().replace('AuthenticationConfiguration', 'Secret'), /expected AuthenticationConfiguration of/],
  ]
  for (const [text, message] of cases) await assert.rejects(parseAuthenticationConfiguration(text, 'f.yaml', server), message)
})

test('the flags say the same in fewer words', () => {
  const flags = { issuerUrl: 'https://i', clientId: 'k' }
  const cases: [Parameters<typeof jwtConfigurationOfFlags>[0], string][] = [
    [flags, 'https://i#'],
    [{ ...flags, usernameClaim: 'email' }, ''],
    [{ ...flags, usernamePrefix: '-' }, ''],
    [{ ...flags, usernamePrefix: 'x:' }, 'x:'],
  ]
  for (const [given, prefix] of cases) assert.equal(jwtConfigurationOfFlags(given).username.prefix, prefix)
})
