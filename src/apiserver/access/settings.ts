import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { GrpcChannel } from '#base/grpc.ts'
import type { HttpClient, HttpClientOptions } from '#base/http-client.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'

/** Who gets in, and what for: the flags of upstream's API server under their own names. Empty texts are flags not given. */
export type AccessSettings = AuthenticationSettings & ServiceAccountSettings & AuthorizationSettings & ObjectSettings

export type AuthenticationSettings = {
  anonymousAuth: boolean
  /** A token of the user admin in system:masters, for tests. */
  token: string
  tokenAuthFile: string
  basicAuthFile: string
  authenticationConfig: string
  oidcIssuerUrl: string
  oidcClientId: string
  oidcUsernameClaim: string
  oidcUsernamePrefix: string
  oidcGroupsClaim: string
  oidcGroupsPrefix: string
  oidcRequiredClaim: readonly string[]
  oidcCaFile: string
  oidcSigningAlgs: readonly string[]
  experimentalKeystoneUrl: string
  experimentalKeystoneCaFile: string
  authenticationTokenWebhookConfigFile: string
  authenticationTokenWebhookVersion: string
  /** In milliseconds, as all times here. */
  authenticationTokenWebhookCacheTtl: number
}

export type ServiceAccountSettings = {
  /** The first issues; tokens of all are believed. */
  serviceAccountIssuer: readonly string[]
  serviceAccountKeyFile: readonly string[]
  serviceAccountSigningKeyFile: string
  serviceAccountMaxTokenExpiration: number
  serviceAccountExtendTokenExpiration: boolean
  serviceAccountJwksUri: string
  apiAudiences: readonly string[]
}

export type AuthorizationSettings = {
  authorizationMode: readonly string[]
  authorizationConfig: string
  authorizationPolicyFile: string
  authorizationWebhookConfigFile: string
  authorizationWebhookVersion: string
  authorizationWebhookCacheAuthorizedTtl: number
  authorizationWebhookCacheUnauthorizedTtl: number
}

export type ObjectSettings = {
  enableAdmissionPlugins: readonly string[]
  disableAdmissionPlugins: readonly string[]
  admissionControlConfigFile: string
  encryptionProviderConfig: string
  /** `keys`: other keys are taken over, other resources are not, so that those that are not named cost nothing. */
  encryptionProviderConfigAutomaticReload: boolean | 'keys'
}

/** How files are read and services are reached. */
export type AccessSeams = {
  files: Files
  http(options: HttpClientOptions): HttpClient
  connect(endpoint: string): Promise<GrpcChannel>
  clock: Clock
  random: Random
  logger: Logger
}
