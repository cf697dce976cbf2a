import type { KeyObject } from 'node:crypto'
import type { PublicKeys } from '#apiserver/authn/service-account/verified-tokens.ts'

/** Who issues the tokens of service accounts, and whose are believed. */
export type ServiceAccountIssuer = {
  /** The first issues; tokens of all are believed. */
  readonly issuers: readonly string[]
  /** What tokens must be meant for to be good here. */
  readonly audiences: readonly string[]
  readonly publicKeys: PublicKeys
  readonly privateKey: () => KeyObject
  /** Zero: as long as asked for. */
  readonly maxExpirationSeconds: number
  readonly extendsExpiration: boolean
  readonly keySetUri: string
}
