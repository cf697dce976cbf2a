import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openAccess } from '#apiserver/access/access.ts'
import type { AccessSettings } from '#apiserver/access/settings.ts'
import { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { memoryKeyDirectory } from '#apiserver/pki/key-directory.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const nothingSaid: AccessSettings = {
  anonymousAuth: true,
  token: '',
  tokenAuthFile: '',
  basicAuthFile: '',
  authenticationConfig: '',
  oidcIssuerUrl: '',
  oidcClientId: '',
  oidcUsernameClaim: 'sub',
  oidcUsernamePrefix: '',
  oidcGroupsClaim: '',
  oidcGroupsPrefix: '',
  oidcRequiredClaim: [],
  oidcCaFile: '',
  oidcSigningAlgs: ['RS256'],
  experimentalKeystoneUrl: '',
  experimentalKeystoneCaFile: '',
  authenticationTokenWebhookConfigFile: '',
  authenticationTokenWebhookVersion: 'v1beta1',
  authenticationTokenWebhookCacheTtl: 120_000,
  serviceAccountIssuer: ['https://kubernetes.default.svc'],
  serviceAccountKeyFile: [],
  serviceAccountSigningKeyFile: '',
  serviceAccountMaxTokenExpiration: 0,
  serviceAccountExtendTokenExpiration: true,
  serviceAccountJwksUri: '',
  apiAudiences: [],
  authorizationMode: ['Node', 'RBAC'],
  authorizationConfig: '',
  authorizationPolicyFile: '',
  authorizationWebhookConfigFile: '',
  authorizationWebhookVersion: 'v1beta1',
  authorizationWebhookCacheAuthorizedTtl: 300_000,
  authorizationWebhookCacheUnauthorizedTtl: 30_000,
  enableAdmissionPlugins: [],
  disableAdmissionPlugins: [],
  admissionControlConfigFile: '',
  encryptionProviderConfig: '',
  encryptionProviderConfigAutomaticReload: false,
}

const directory = mkdtempSync(join(tmpdir(), 'access-'))
after(() => rmSync(directory, { recursive: true }))
const file = (name: string, content: string) => {
  writeFileSync(join(directory, name), content)
  return join(directory, name)
}

const clock = new VirtualClock()
const random = seededRandom(7)
const keys = await ClusterKeys.open({ directory: memoryKeyDirectory(), clock, random, log: silentLogger }, [])
const open = (settings: Partial<AccessSettings>) =>
  openAccess({ ...nothingSaid, ...settings }, keys, {
    files: nodeFiles,
    http: nodeHttpClient,
    connect: () => Promise.reject(new Error('there is nothing to connect to')),
    clock,
    random,
    logger: silentLogger,
  })

test('where nothing is said, the cluster issues its own tokens and lets nobody in by other means', async () => {
  using access = await open({})
  assert.deepEqual(access.authenticators.tokens, [])
  assert.deepEqual(access.authenticators.slowTokens, [])
  assert.deepEqual(access.authenticators.anonymous, {})
  assert.deepEqual(access.authorizers.chosen, [{ mode: 'Node' }, { mode: 'RBAC' }])
  assert.deepEqual(access.serviceAccounts.audiences, ['https://kubernetes.default.svc'])
  assert.equal(access.serviceAccounts.publicKeys(), keys.serviceAccountKeys.publicKeys)
  assert.equal(access.encryption, undefined)
})

test('keys from files sign and are believed, beside those of the cluster; the set is the same array each time', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const path = file('sa.key', privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
  using access = await open({ serviceAccountSigningKeyFile: path, serviceAccountKeyFile: [path] })
  const { publicKeys } = access.serviceAccounts
  assert.ok(access.serviceAccounts.privateKey().equals(privateKey))
  assert.ok(publicKeys()[0]?.equals(publicKey))
  assert.ok(publicKeys().some((key) => keys.serviceAccountKeys.publicKeys[0]?.equals(key)))
  assert.equal(publicKeys(), publicKeys())
})

const wrong: [what: string, settings: () => Partial<AccessSettings>, complaint: RegExp][] = [
  [
    'an OpenID issuer without a client',
    () => ({ oidcIssuerUrl: 'https://x' }),
    /oidc-issuer-url and oidc-client-id must be specified together/,
  ],
  ['an OpenID issuer without TLS', () => ({ oidcIssuerUrl: 'http://x', oidcClientId: 'a' }), /does not begin with https/],
  [
    'the own issuer as another one',
    () => ({ oidcIssuerUrl: 'https://kubernetes.default.svc', oidcClientId: 'a' }),
    /issues service account tokens/,
  ],
  [
    'claims without values',
    () => ({ oidcIssuerUrl: 'https://x', oidcClientId: 'a', oidcRequiredClaim: ['a'] }),
    /has not the form claim=value/,
  ],
  [
    'issuers by flags and by a file',
    () => ({ oidcIssuerUrl: 'https://x', oidcClientId: 'a', authenticationConfig: '/x' }),
    /mutually exclusive/,
  ],
  ['a mode that is none', () => ({ authorizationMode: ['Magic'] }), /there is no mode Magic/],
  ['no mode', () => ({ authorizationMode: [] }), /at least one authorization-mode must be passed/],
  ['a mode twice', () => ({ authorizationMode: ['RBAC', 'RBAC'] }), /has mode specified more than once/],
  ['ABAC without policies', () => ({ authorizationMode: ['ABAC'] }), /authorization policy file not passed/],
  ['policies without ABAC', () => ({ authorizationPolicyFile: '/x' }), /without mode ABAC/],
  ['Webhook without a service', () => ({ authorizationMode: ['Webhook'] }), /--authorization-webhook-config-file is required/],
  ['a service without Webhook', () => ({ authorizationWebhookConfigFile: '/x' }), /without mode Webhook/],
  ['no issuer', () => ({ serviceAccountIssuer: [] }), /service-account-issuer is a required flag/],
  ['an issuer twice', () => ({ serviceAccountIssuer: ['a', 'a'] }), /already specified/],
  ['tokens that live too short', () => ({ serviceAccountMaxTokenExpiration: 1000 }), /must be between 1 hour and 2\^32 seconds/],
  ['reloading nothing', () => ({ encryptionProviderConfigAutomaticReload: true }), /needs --encryption-provider-config/],
  ['a token file with too little in it', () => ({ tokenAuthFile: file('t.csv', 'a,b\n') }), /must have at least 3 columns/],
  ['a file that is not there', () => ({ basicAuthFile: join(directory, 'none') }), /ENOENT/],
  [
    'an admission configuration of another kind',
    () => ({ admissionControlConfigFile: file('a.yaml', 'kind: Pod\napiVersion: v1\n') }),
    /--admission-control-config-file .*a\.yaml: expected an AdmissionConfiguration/,
  ],
]
for (const [what, settings, complaint] of wrong) {
  test(`${what} is refused at the start`, async () => {
    await assert.rejects(open(settings()), complaint)
  })
}
