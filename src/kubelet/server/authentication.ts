/** Who calls the kubelet: the holder of a certificate, or of a token that the API server knows. */

import { createHash, type X509Certificate } from 'node:crypto'
import { TokenReview } from '#api/authentication/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Client } from '#client/client.ts'
import { Remembered } from '#kubelet/server/remembered.ts'
import { trustedClientCertificate } from '#wire/x509/client-certificate.ts'

export type Caller = { name: string; uid?: string; groups: readonly string[]; extra: Readonly<Record<string, string[]>> }

export type AuthenticationOptions = {
  /** The authorities whose certificates are believed; none where empty. A changed set is another array. */
  clientAuthorities(): readonly X509Certificate[]
  client: Pick<Client, 'create'>
  clock: Clock
  /** Tokens are shown to the API server. */
  reviewsTokens: boolean
  tokenLastsMs: number
  allowsAnonymous: boolean
}

/** Less than what is known of others: a token may be shown a moment before its API server knows it. */
const refusalLastsMs = 10_000

const anonymous: Caller = { name: 'system:anonymous', groups: ['system:unauthenticated'], extra: {} }

export class Authentication {
  readonly #options: AuthenticationOptions
  readonly #certificates = new WeakMap<X509Certificate, { caller: Caller; authorities: readonly X509Certificate[]; untilMs: number }>()
  readonly #tokens: Remembered<Caller>
  /** Apart from the others: whoever makes tokens up must not crowd out those that are known. */
  readonly #refused: Remembered<true>

  constructor(options: AuthenticationOptions) {
    this.#options = options
    this.#tokens = new Remembered(options.clock)
    this.#refused = new Remembered(options.clock)
  }

  /** Undefined for nobody we know, which includes whoever shows something that is not in order. */
  async callerOf({ connection, headers }: HttpExchange): Promise<Caller | undefined> {
    const { reviewsTokens, allowsAnonymous, clientAuthorities } = this.#options
    let isDubious = false
    if (connection.clientCertificate !== undefined && clientAuthorities().length > 0) {
      const caller = this.#holderOf(connection.clientCertificate)
      if (caller !== undefined) return caller
      isDubious = true
    }
    const [, token] = /^Bearer\s+(\S+)/i.exec(headers.authorization ?? '') ?? []
    if (token !== undefined && reviewsTokens) {
      const caller = await this.#ownerOf(token)
      if (caller !== undefined) return caller
      isDubious = true
    }
    return allowsAnonymous && !isDubious ? anonymous : undefined
  }

  #holderOf(certificate: X509Certificate): Caller | undefined {
    const { clientAuthorities, clock } = this.#options
    const authorities = clientAuthorities()
    const nowMs = clock.now()
    const known = this.#certificates.get(certificate)
    if (known !== undefined && known.authorities === authorities && nowMs < known.untilMs) return known.caller
    try {
      const { fields, notAfterMs } = trustedClientCertificate(certificate, authorities, nowMs)
      const { commonName, organization } = fields.subject
      if (commonName === '') return undefined
      const caller = { name: commonName, groups: [...organization, 'system:authenticated'], extra: {} }
      this.#certificates.set(certificate, { caller, authorities, untilMs: notAfterMs })
      return caller
    } catch {
      return undefined
    }
  }

  async #ownerOf(token: string): Promise<Caller | undefined> {
    // Kept by their hashes: a memory that leaks must not leak tokens.
    const key = createHash('sha256').update(token).digest('base64')
    const known = this.#tokens.get(key)
    if (known !== undefined || this.#refused.get(key)) return known
    const { client, tokenLastsMs } = this.#options
    const { status } = await client.create(TokenReview, { metadata: {}, spec: { token } })
    if (!status?.authenticated || !status.user?.username) {
      this.#refused.set(key, true, Math.min(tokenLastsMs, refusalLastsMs))
      return undefined
    }
    const { username, uid, groups = [], extra = {} } = status.user
    const all = groups.includes('system:authenticated') ? groups : [...groups, 'system:authenticated']
    const caller: Caller = { name: username, ...omitEmpty({ uid }), groups: all, extra }
    this.#tokens.set(key, caller, tokenLastsMs)
    return caller
  }
}
