import { type KeyObject, X509Certificate } from 'node:crypto'
import { formatTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Random } from '#base/random.ts'
import { keyUsagesOf } from '#controllers/certificates/key-usages.ts'
import { type CertificateRequest, checkSignature } from '#wire/certificate-request.ts'
import { encodePem } from '#wire/pem.ts'
import { issueCertificate } from '#wire/x509/certificate.ts'
import { attributeTypes, type SubjectName } from '#wire/x509/distinguished-name.ts'
import { ipAddressText } from '#wire/x509/ip-address.ts'
import { readCertificate } from '#wire/x509/read-certificate.ts'

/** A certificate, in PEM, and its key: what is asked for by requests is signed with them. */
export type SigningAuthority = { readonly certificatePem: string; readonly privateKey: KeyObject }

export type SigningTerms = {
  usages: readonly string[]
  durationMs: number
  nowMs: number
  random: Random
}

/** Clocks differ: whoever gets the certificate may be behind. */
const backdateMs = 5 * 60_000
/** Shorter lives than this are not shortened by that. */
const shortMs = 8 * 3_600_000

/**
 * The certificate, in PEM, that the authority makes of a request: its names and key, with the usages that were approved. Extensions of the
 * request's own are left out, and it never outlives the authority.
 */
export function signCertificate(request: CertificateRequest, authority: SigningAuthority, terms: SigningTerms): string {
  try {
    checkSignature(request)
  } catch (error) {
    throw new Error(`unable to verify certificate request signature: ${errorMessage(error)}`)
  }
  const { usages, durationMs, nowMs, random } = terms
  const { raw } = new X509Certificate(authority.certificatePem)
  const signer = readCertificate(raw)
  const notBeforeMs = nowMs - backdateMs
  const endMs = durationMs < shortMs ? nowMs + durationMs : nowMs + durationMs - backdateMs
  if (notBeforeMs >= signer.notAfterMs) throw new Error(`the signer has expired: NotAfter=${formatTime(signer.notAfterMs)}`)
  if (nowMs >= signer.notAfterMs)
    throw new Error(`refusing to sign a certificate that expired in the past: NotAfter=${formatTime(signer.notAfterMs)}`)
  const der = issueCertificate(
    {
      serialNumber: random.bytes(16),
      subject: subjectOf(request),
      publicKey: request.publicKey,
      notBeforeMs,
      notAfterMs: Math.min(endMs, signer.notAfterMs),
      ...keyUsagesOf(usages),
      subjectAltNames: {
        dnsNames: request.dnsNames,
        emailAddresses: request.emailAddresses,
        ipAddresses: request.ipAddresses.map(ipAddressText),
        uris: request.uris,
      },
    },
    { subject: signer.encodedSubject, privateKey: authority.privateKey, keyId: signer.subjectKeyId },
  )
  return encodePem('CERTIFICATE', der)
}

/** Attributes without a name in Go, a uid of Kubernetes among them, are not passed on: nobody has looked at them. */
function subjectOf({ subject }: CertificateRequest): SubjectName {
  const all = (type: string) => subject.attributes.filter((each) => each.type === type).map(({ value }) => value)
  const serialNumber = all(attributeTypes.serialNumber).at(-1)
  return {
    countries: all(attributeTypes.country),
    organizations: subject.organization,
    organizationalUnits: subject.organizationalUnit,
    localities: all(attributeTypes.locality),
    provinces: all(attributeTypes.province),
    streetAddresses: all(attributeTypes.streetAddress),
    postalCodes: all(attributeTypes.postalCode),
    ...omitEmpty({ commonName: subject.commonName }),
    ...defined({ serialNumber }),
  }
}
