import { type Authenticator, Unauthenticated } from '#apiserver/authn/authenticator.ts'
import { headerValue, headerValues, headerValuesWithPrefix } from '#apiserver/authn/header-values.ts'
import { rememberingVerifier, type TrustAnchors } from '#apiserver/authn/x509.ts'
import type { Clock } from '#base/clock.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type RequestHeaderOptions = {
  anchors: TrustAnchors
  clock: Clock
  /** Common names of the proxies that are believed; any certificate of the authority when empty. */
  allowedNames: readonly string[]
  usernameHeaders: readonly string[]
  uidHeaders: readonly string[]
  groupHeaders: readonly string[]
  extraHeaderPrefixes: readonly string[]
}

/** What upstream's clusters are set up with. */
export const standardRequestHeaders = {
  usernameHeaders: ['X-Remote-User'],
  uidHeaders: ['X-Remote-Uid'],
  groupHeaders: ['X-Remote-Group'],
  extraHeaderPrefixes: ['X-Remote-Extra-'],
} as const

/** Believes the headers of a proxy in front, which shows a certificate of the front-proxy authority. */
export function requestHeaderAuthenticator(options: RequestHeaderOptions): Authenticator {
  const verify = rememberingVerifier(options.anchors, options.clock)
  const lower = (names: readonly string[]) => names.map((name) => name.trim().toLowerCase())
  const usernameHeaders = lower(options.usernameHeaders)
  const uidHeaders = lower(options.uidHeaders)
  const groupHeaders = lower(options.groupHeaders)
  const prefixes = lower(options.extraHeaderPrefixes)
  return {
    authenticate(credentials) {
      if (credentials.clientCertificate === undefined) return undefined
      const first = (names: readonly string[]) => {
        const name = names.find((candidate) => headerValue(credentials, candidate) !== '')
        return name === undefined ? '' : (headerValues(credentials, name)[0] ?? '')
      }
      const name = first(usernameHeaders)
      // Before any look at the certificate: nearly all certificates are those of ordinary clients.
      if (name === '') return undefined
      const trusted = verify(credentials.clientCertificate)
      if (trusted === undefined) return undefined
      const { commonName } = trusted.fields.subject
      if (options.allowedNames.length > 0 && !options.allowedNames.includes(commonName)) {
        throw new Unauthenticated(`x509: subject with cn=${commonName} is not in the allowed list`)
      }
      const uid = first(uidHeaders)
      const groups = groupHeaders.flatMap((header) => headerValues(credentials, header)).filter((group) => group !== '')
      const extra = headerValuesWithPrefix(credentials, ...prefixes)
      return { user: { name, groups, extra, ...omitEmpty({ uid }) } }
    },
  }
}
