/** The authenticators that flags and files ask for, beside those every server has. */

import type { AccessSeams, AuthenticationSettings } from '#apiserver/access/settings.ts'
import type { AnonymousOptions } from '#apiserver/authn/anonymous.ts'
import { forServerOnly } from '#apiserver/authn/audiences.ts'
import type { TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import { basicAuthAuthenticator } from '#apiserver/authn/basic-auth-file.ts'
import { cachedTokenAuthenticator } from '#apiserver/authn/cached-tokens.ts'
import { type Keystone, keystoneAuthentication } from '#apiserver/authn/keystone.ts'
import { jwtConfigurationOfFlags } from '#apiserver/authn/oidc/authentication-configuration.ts'
import { StructuredAuthentication } from '#apiserver/authn/oidc/structured-authentication.ts'
import type { MoreAuthenticators } from '#apiserver/authn/standard-authenticator.ts'
import { singleTokenAuthenticator, staticTokenAuthenticator } from '#apiserver/authn/static-token-file.ts'
import { reviewWebhook } from '#apiserver/authn/webhook/review-webhook.ts'
import { tokenWebhookAuthenticator } from '#apiserver/authn/webhook/token-webhook.ts'
import { readWebhookKubeconfig } from '#apiserver/authn/webhook/webhook-kubeconfig.ts'
import { defined } from '#base/defined.ts'

const webhookTimeoutMs = 30_000

/** `issuers` and `audiences` are those of service accounts. What is opened is closed with the stack. */
export async function configuredAuthentication(
  settings: AuthenticationSettings,
  { issuers, audiences }: { issuers: readonly string[]; audiences: readonly string[] },
  seams: AccessSeams,
  stack: DisposableStack,
): Promise<MoreAuthenticators> {
  const { files, logger } = seams
  const { token, tokenAuthFile, basicAuthFile } = settings
  const tokens: TokenAuthenticator[] = []
  if (token !== '') tokens.push(singleTokenAuthenticator(token, { name: 'admin', uid: '1', groups: ['system:masters'], extra: {} }))
  if (tokenAuthFile !== '') tokens.push(staticTokenAuthenticator(await files.readText(tokenAuthFile), tokenAuthFile, logger))
  const structured = await structuredAuthentication(settings, issuers, audiences, seams)
  if (structured !== undefined) stack.use(structured)
  const webhook = await tokenWebhook(settings, audiences, seams, stack)
  const keystone = await configuredKeystone(settings, seams, stack)
  const passwords = basicAuthFile === '' ? undefined : basicAuthAuthenticator(await files.readText(basicAuthFile), basicAuthFile)
  if (keystone !== undefined && passwords !== undefined)
    throw new Error('--basic-auth-file and --experimental-keystone-url both say whose a password is: give one of them')
  return {
    tokens: tokens.map((each) => forServerOnly(audiences, each)),
    slowTokens: [structured, webhook, keystone?.tokens].filter((each) => each !== undefined),
    requests: [passwords, keystone?.passwords].filter((each) => each !== undefined),
    anonymous: anonymousOptions(settings, structured),
  }
}

async function structuredAuthentication(
  settings: AuthenticationSettings,
  ownIssuers: readonly string[],
  serverAudiences: readonly string[],
  { files, http, clock, random, logger }: AccessSeams,
): Promise<StructuredAuthentication | undefined> {
  const { authenticationConfig, oidcIssuerUrl, oidcClientId, oidcCaFile } = settings
  const options = { http, clock, random, log: logger, serverAudiences, ownIssuers, signingAlgorithms: settings.oidcSigningAlgs }
  if (authenticationConfig !== '') {
    if (oidcIssuerUrl !== '') throw new Error('authentication-config file and oidc-* flags are mutually exclusive')
    return StructuredAuthentication.fromFile(files, authenticationConfig, options)
  }
  if ((oidcIssuerUrl === '') !== (oidcClientId === '')) throw new Error('oidc-issuer-url and oidc-client-id must be specified together')
  if (oidcIssuerUrl === '') return undefined
  if (!oidcIssuerUrl.startsWith('https://')) throw new Error(`--oidc-issuer-url: ${oidcIssuerUrl} does not begin with https://`)
  if (ownIssuers.includes(oidcIssuerUrl)) throw new Error(`--oidc-issuer-url: ${oidcIssuerUrl} is who issues service account tokens`)
  const certificateAuthority = oidcCaFile === '' ? undefined : await files.readText(oidcCaFile)
  const configuration = jwtConfigurationOfFlags({
    issuerUrl: oidcIssuerUrl,
    clientId: oidcClientId,
    usernameClaim: settings.oidcUsernameClaim,
    usernamePrefix: settings.oidcUsernamePrefix,
    groupsClaim: settings.oidcGroupsClaim,
    groupsPrefix: settings.oidcGroupsPrefix,
    requiredClaims: requiredClaims(settings.oidcRequiredClaim),
    ...defined({ certificateAuthority }),
  })
  return StructuredAuthentication.fromConfiguration({ jwt: [configuration] }, options)
}

function requiredClaims(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=')
      if (equals < 1) throw new Error(`--oidc-required-claim: ${pair} has not the form claim=value`)
      return [pair.slice(0, equals), pair.slice(equals + 1)]
    }),
  )
}

async function tokenWebhook(
  settings: AuthenticationSettings,
  audiences: readonly string[],
  { files, http, clock, random }: AccessSeams,
  stack: DisposableStack,
): Promise<TokenAuthenticator | undefined> {
  const { authenticationTokenWebhookConfigFile: path, authenticationTokenWebhookCacheTtl: ttlMs } = settings
  if (path === '') return undefined
  const target = await readWebhookKubeconfig(files, path)
  const client = stack.use(http(target.connection))
  const send = reviewWebhook({ target, http: client, clock, random, timeoutMs: webhookTimeoutMs })
  const version = settings.authenticationTokenWebhookVersion === 'v1' ? 'v1' : 'v1beta1'
  const webhook = tokenWebhookAuthenticator(send, audiences, version)
  return cachedTokenAuthenticator(webhook, { clock, random, acceptedTtlMs: ttlMs, unknownTtlMs: ttlMs })
}

async function configuredKeystone(
  { experimentalKeystoneUrl: url, experimentalKeystoneCaFile: caFile }: AuthenticationSettings,
  { files, http, clock, random }: AccessSeams,
  stack: DisposableStack,
): Promise<Keystone | undefined> {
  if (url === '') return undefined
  if (!url.startsWith('https://'))
    throw new Error(`--experimental-keystone-url: ${url} does not begin with https://: passwords are sent there`)
  const ca = caFile === '' ? undefined : await files.readText(caFile)
  return keystoneAuthentication({ url, http: stack.use(http(defined({ ca }))), clock, random })
}

function anonymousOptions(
  { anonymousAuth }: AuthenticationSettings,
  structured: StructuredAuthentication | undefined,
): AnonymousOptions | undefined {
  const configured = structured?.configuration.anonymous
  if (configured === undefined) return anonymousAuth ? {} : undefined
  return configured.enabled ? { paths: configured.paths } : undefined
}
