import { forServerOnly } from '#apiserver/authn/audiences.ts'
import type { AuthOutcome, TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import { cachedTokenAuthenticator } from '#apiserver/authn/cached-tokens.ts'
import { type AuthenticationConfiguration, parseAuthenticationConfiguration } from '#apiserver/authn/oidc/authentication-configuration.ts'
import { OidcAuthenticator, type OidcOptions } from '#apiserver/authn/oidc/oidc-authenticator.ts'
import type { Files } from '#base/files.ts'
import { FollowedFiles } from '#base/followed-files.ts'
import type { Random } from '#base/random.ts'

export type StructuredAuthenticationOptions = Omit<OidcOptions, 'configuration'> & {
  random: Random
  serverAudiences: readonly string[]
  /** Of service accounts. */
  ownIssuers: readonly string[]
}

const acceptedTtlMs = 10_000
const settleMs = 200

/** The token authenticators that flags or a file ask for; those of a file change with it. */
export class StructuredAuthentication implements TokenAuthenticator, Disposable {
  readonly #options: StructuredAuthenticationOptions
  #configuration: AuthenticationConfiguration
  #issuers: OidcAuthenticator[]
  #tokens: TokenAuthenticator
  #text: string | undefined
  #changes: FollowedFiles | undefined

  private constructor(options: StructuredAuthenticationOptions, configuration: AuthenticationConfiguration, issuers: OidcAuthenticator[]) {
    this.#options = options
    this.#configuration = configuration
    this.#issuers = issuers
    this.#tokens = tokensOf(issuers, options)
  }

  static async fromConfiguration(
    configuration: AuthenticationConfiguration,
    options: StructuredAuthenticationOptions,
  ): Promise<StructuredAuthentication> {
    return new StructuredAuthentication(options, configuration, await started(configuration, options))
  }

  static async fromFile(files: Files, path: string, options: StructuredAuthenticationOptions): Promise<StructuredAuthentication> {
    const { clock, log } = options
    using stack = new DisposableStack()
    const changes = stack.use(FollowedFiles.at([path], files, { clock, ms: settleMs }))
    const text = await files.readText(path)
    const configuration = await parseAuthenticationConfiguration(text, path, options.ownIssuers)
    const authentication = await StructuredAuthentication.fromConfiguration(configuration, options)
    authentication.#text = text
    authentication.#changes = changes
    changes.readAgain(
      () => authentication.#load(files, path),
      (error) => log.error('failed to reload AuthenticationConfiguration, keeping the old one', { error: String(error) }),
    )
    stack.move()
    return authentication
  }

  get configuration(): AuthenticationConfiguration {
    return this.#configuration
  }

  get problems(): string[] {
    return this.#issuers.map(({ problem }) => problem).filter((problem) => problem !== undefined)
  }

  authenticateToken(token: string, audiences: readonly string[]): AuthOutcome | Promise<AuthOutcome> {
    return this.#tokens.authenticateToken(token, audiences)
  }

  [Symbol.dispose](): void {
    this.#changes?.[Symbol.dispose]()
    for (const issuer of this.#issuers) issuer[Symbol.dispose]()
  }

  async #load(files: Files, path: string): Promise<void> {
    const text = await files.readText(path)
    if (text === this.#text) return
    const configuration = await parseAuthenticationConfiguration(text, path, this.#options.ownIssuers)
    const issuers = await started(configuration, this.#options)
    const problem = issuers.find((issuer) => issuer.problem !== undefined)?.problem
    if (problem !== undefined) {
      for (const issuer of issuers) issuer[Symbol.dispose]()
      throw new Error(problem)
    }
    for (const issuer of this.#issuers) issuer[Symbol.dispose]()
    this.#text = text
    this.#configuration = configuration
    this.#issuers = issuers
    this.#tokens = tokensOf(issuers, this.#options)
    this.#options.log.info('reloaded AuthenticationConfiguration', { path })
  }
}

async function started({ jwt }: AuthenticationConfiguration, options: StructuredAuthenticationOptions): Promise<OidcAuthenticator[]> {
  const issuers = jwt.map((configuration) => new OidcAuthenticator({ ...options, configuration }))
  await Promise.all(issuers.map((issuer) => issuer.start()))
  return issuers
}

/** Each token has one issuer, so that the first who knows it has the last word. */
function tokensOf(
  issuers: readonly OidcAuthenticator[],
  { serverAudiences, clock, random }: StructuredAuthenticationOptions,
): TokenAuthenticator {
  const first: TokenAuthenticator = {
    authenticateToken(token) {
      for (const issuer of issuers) {
        const outcome = issuer.authenticateToken(token)
        if (outcome !== undefined) return outcome
      }
      return undefined
    },
  }
  return forServerOnly(serverAudiences, cachedTokenAuthenticator(first, { clock, random, acceptedTtlMs, unknownTtlMs: 0 }))
}
