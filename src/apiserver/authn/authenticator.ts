import type { X509Certificate } from 'node:crypto'

/** Who makes a request, as authorization, admission, audit and flow control see it. */
export type UserInfo = {
  readonly name: string
  readonly uid?: string | undefined
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** What a request carries that may tell who makes it. */
export type Credentials = {
  /** Lower-case names; a repeated header may be joined as Node does it. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Name, value, name, value as they came: the only place where a repeated header is told from one with commas. */
  readonly rawHeaders: readonly string[]
  /** Without the query; anonymous access may be limited to some paths. */
  readonly path: string
  /**
   * The peer's leaf certificate, whether or not its chain is trusted; possession of its key is proven by the handshake.
   * The server makes this object once for a connection: verification is remembered by its identity.
   */
  readonly clientCertificate?: X509Certificate | undefined
  readonly remoteAddress: string
  /** What a token must be meant for; the server's own audiences when absent. TokenReview asks for others. */
  readonly audiences?: readonly string[] | undefined
  /** Takes a text for the Warning header where the credential was passed over. */
  readonly warn?: ((text: string) => void) | undefined
}

export type AuthResult = {
  readonly user: UserInfo
  /** The asked audiences that the credential is good for; absent when the authenticator knows nothing of audiences. */
  readonly audiences?: readonly string[] | undefined
  /** Texts for the Warning header. */
  readonly warnings?: readonly string[] | undefined
  readonly auditAnnotations?: Readonly<Record<string, string>> | undefined
}

/**
 * Says who somebody is.
 * `undefined` means no opinion: the credential is not of this kind. A credential of this kind that is bad throws `Unauthenticated`.
 * Answers without a promise when nothing has to be waited for, which is the case for everything seen before.
 */
export type Authenticator = {
  authenticate(credentials: Credentials): AuthOutcome | Promise<AuthOutcome>
}

export type AuthOutcome = AuthResult | undefined

/** Answers for a bearer token alone; `audiences` is empty when any will do. */
export type TokenAuthenticator = {
  authenticateToken(token: string, audiences: readonly string[]): AuthOutcome | Promise<AuthOutcome>
}

/** A credential that was understood and found wrong. The client learns only "Unauthorized"; the sentence is for logs and TokenReview. */
export class Unauthenticated extends Error {
  override name = 'Unauthenticated'
}

export const noExtra: UserInfo['extra'] = Object.freeze({})

export const anonymousUser = 'system:anonymous'
export const groups = {
  authenticated: 'system:authenticated',
  unauthenticated: 'system:unauthenticated',
  masters: 'system:masters',
  nodes: 'system:nodes',
  monitoring: 'system:monitoring',
  serviceAccounts: 'system:serviceaccounts',
} as const

/** The key of `extra` under which the identity of the credential itself is kept. */
export const credentialIdKey = 'authentication.kubernetes.io/credential-id'
