import { createHash, type X509Certificate } from 'node:crypto'
import { type Authenticator, type AuthOutcome, type AuthResult, credentialIdKey, Unauthenticated } from '#apiserver/authn/authenticator.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { certificateIdentifier, type TrustedCertificate, trustedClientCertificate } from '#wire/x509/client-certificate.ts'
import { attributeTypes } from '#wire/x509/distinguished-name.ts'

/** The authorities to believe. A changed set is another array: results are remembered for the array they were made with. */
export type TrustAnchors = () => readonly X509Certificate[]

type Remembered = {
  readonly anchors: readonly X509Certificate[]
  readonly trusted: TrustedCertificate | Unauthenticated
  readonly fromMs: number
  readonly untilMs: number
}

/** What is refused now may be valid later: not yet valid, or validated by a clock that was wrong. */
const refusalLastsMs = 60_000

/** Takes the common name of a client certificate for the user and its organizations for the groups. */
export function x509Authenticator(anchors: TrustAnchors, clock: Clock): Authenticator {
  const verify = rememberingVerifier(anchors, clock)
  const outcomes = new WeakMap<TrustedCertificate, { outcome: AuthOutcome }>()
  return {
    authenticate({ clientCertificate }) {
      if (clientCertificate === undefined) return undefined
      const trusted = verify(clientCertificate)
      if (trusted === undefined) return undefined
      let known = outcomes.get(trusted)
      if (known === undefined) {
        known = { outcome: userOf(clientCertificate, trusted) }
        outcomes.set(trusted, known)
      }
      return known.outcome
    },
  }
}

/**
 * Verification by public keys costs a tenth of a millisecond: done once for each certificate object, that is once for each connection,
 * and again only when time or the authorities have moved on. Undefined when there is no authority to ask.
 */
export function rememberingVerifier(anchors: TrustAnchors, clock: Clock): (certificate: X509Certificate) => TrustedCertificate | undefined {
  const memory = new WeakMap<X509Certificate, Remembered>()
  return (certificate) => {
    const current = anchors()
    if (current.length === 0) return undefined
    const nowMs = clock.now()
    let known = memory.get(certificate)
    if (known === undefined || known.anchors !== current || nowMs < known.fromMs || nowMs > known.untilMs) {
      known = validated(certificate, current, nowMs)
      memory.set(certificate, known)
    }
    if (known.trusted instanceof Unauthenticated) throw known.trusted
    return known.trusted
  }
}

function validated(certificate: X509Certificate, anchors: readonly X509Certificate[], nowMs: number): Remembered {
  try {
    const trusted = trustedClientCertificate(certificate, anchors, nowMs)
    return { anchors, trusted, fromMs: trusted.notBeforeMs, untilMs: trusted.notAfterMs }
  } catch (error) {
    const why = errorMessage(error)
    const trusted = new Unauthenticated(`verifying certificate ${identifierOrNothing(certificate)} failed: ${why}`)
    return { anchors, trusted, fromMs: nowMs, untilMs: nowMs + refusalLastsMs }
  }
}

function identifierOrNothing(certificate: X509Certificate): string {
  try {
    return certificateIdentifier(certificate)
  } catch {
    return ''
  }
}

function userOf(certificate: X509Certificate, { fields: { subject } }: TrustedCertificate): AuthResult | undefined {
  if (subject.commonName === '') return undefined
  const uids = subject.attributes.filter(({ type }) => type === attributeTypes.kubernetesUid).map(({ value }) => value)
  if (uids.length > 1) throw new Unauthenticated(`expected 1 UID, but found multiple: [${uids.join(' ')}]`)
  const [uid] = uids
  if (uid === '') throw new Unauthenticated('UID cannot be an empty string')
  const fingerprint = createHash('sha256').update(certificate.raw).digest('hex')
  return {
    user: { name: subject.commonName, uid, groups: subject.organization, extra: { [credentialIdKey]: [`X509SHA256=${fingerprint}`] } },
  }
}
