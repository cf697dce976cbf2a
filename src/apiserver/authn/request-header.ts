import { type Authenticator, type Credentials, Unauthenticated, type UserInfo } from '#apiserver/authn/authenticator.ts'
import { headerValue, headerValues, headerValuesWithPrefix } from '#apiserver/authn/header-values.ts'
import { rememberingVerifier, type TrustAnchors } from '#apiserver/authn/x509.ts'
import type { Clock } from '#base/clock.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type RequestHeaderOptions = UserHeaders & {
  anchors: TrustAnchors
  clock: Clock
  /** Common names of the proxies that are believed; any certificate of the authority when empty. */
  allowedNames: readonly string[]
}

/** The names of the headers that say who asks. */
export type UserHeaders = {
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
  const readUser = userReader(options)
  return {
    authenticate(credentials) {
      if (credentials.clientCertificate === undefined) return undefined
      const user = readUser(credentials)
      // Before any look at the certificate: nearly all certificates are those of ordinary clients.
      if (user === undefined) return undefined
      const trusted = verify(credentials.clientCertificate)
      if (trusted === undefined) return undefined
      const { commonName } = trusted.fields.subject
      if (options.allowedNames.length > 0 && !options.allowedNames.includes(commonName)) {
        throw new Unauthenticated(`x509: subject with cn=${commonName} is not in the allowed list`)
      }
      return { user }
    },
  }
}

/** Reads who asks from the headers of somebody who is believed; undefined where they do not say. */
export function userReader(names: UserHeaders): (request: Pick<Credentials, 'headers' | 'rawHeaders'>) => UserInfo | undefined {
  const lower = (texts: readonly string[]) => texts.map((text) => text.trim().toLowerCase())
  const usernameHeaders = lower(names.usernameHeaders)
  const uidHeaders = lower(names.uidHeaders)
  const groupHeaders = lower(names.groupHeaders)
  const prefixes = lower(names.extraHeaderPrefixes)
  return (request) => {
    const first = (candidates: readonly string[]) => {
      const header = candidates.find((candidate) => headerValue(request, candidate) !== '')
      return header === undefined ? '' : (headerValues(request, header)[0] ?? '')
    }
    const name = first(usernameHeaders)
    if (name === '') return undefined
    const groups = groupHeaders.flatMap((header) => headerValues(request, header)).filter((group) => group !== '')
    const extra = headerValuesWithPrefix(request, ...prefixes)
    return { name, groups, extra, ...omitEmpty({ uid: first(uidHeaders) }) }
  }
}
