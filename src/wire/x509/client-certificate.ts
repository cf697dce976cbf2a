import type { X509Certificate } from 'node:crypto'
import { extendedKeyUsageIds } from '#wire/x509/certificate.ts'
import { type CertificateFields, readCertificate } from '#wire/x509/read-certificate.ts'

/** A certificate that comes from an authority we trust, and until when that can be said without looking again. */
export type TrustedCertificate = { readonly fields: CertificateFields; readonly notBeforeMs: number; readonly notAfterMs: number }

class UntrustedCertificate extends Error {
  override name = 'UntrustedCertificate'
}

const longestChain = 6
const nameConstraints = '2.5.29.30'

/** Signatures anybody can forge, by effort: MD2, MD5 and SHA-1. */
const weakSignatures = new Set([
  '1.2.840.113549.1.1.2',
  '1.2.840.113549.1.1.4',
  '1.2.840.113549.1.1.5',
  '1.2.840.10045.4.1',
  '1.2.840.10040.4.3',
])

/**
 * Follows the chain that the client sent from its certificate to one of the authorities: names, signatures, times, the right to issue,
 * and the right to be used by a client. That the client has the key is the handshake's business.
 */
export function trustedClientCertificate(
  leaf: X509Certificate,
  authorities: readonly X509Certificate[],
  nowMs: number,
): TrustedCertificate {
  const fields = readCertificate(leaf.raw)
  let [notBeforeMs, notAfterMs] = [0, Number.POSITIVE_INFINITY]
  let current = leaf
  let currentFields = fields
  for (let depth = 0; depth < longestChain; depth++) {
    mustBeUsable(currentFields, nowMs)
    notBeforeMs = Math.max(notBeforeMs, currentFields.notBeforeMs)
    notAfterMs = Math.min(notAfterMs, currentFields.notAfterMs)
    const root = authorities.find((authority) => authority.raw.equals(current.raw) || isIssuedBy(current, authority))
    const issuer = root ?? offeredIssuer(leaf, current)
    if (issuer === undefined) break
    const issuerFields = readCertificate(issuer.raw)
    if (!issuer.raw.equals(current.raw)) mustBeAllowedToIssue(issuerFields, depth)
    if (root !== undefined) {
      mustBeUsable(issuerFields, nowMs)
      return {
        fields,
        notBeforeMs: Math.max(notBeforeMs, issuerFields.notBeforeMs),
        notAfterMs: Math.min(notAfterMs, issuerFields.notAfterMs),
      }
    }
    current = issuer
    currentFields = issuerFields
  }
  throw new UntrustedCertificate('x509: certificate signed by unknown authority')
}

/** How upstream names a certificate in its messages. */
export function certificateIdentifier(certificate: X509Certificate): string {
  const { serialNumber, subjectKeyId, authorityKeyId } = readCertificate(certificate.raw)
  return `SN=${shownSerial(serialNumber)}, SKID=${colonHex(subjectKeyId)}, AKID=${colonHex(authorityKeyId)}`
}

/** Authorities give them 20 bytes. Whoever sends a certificate of his own may put 90,000 there, which would take long to write in decimal. */
function shownSerial(serialNumber: bigint): string {
  return BigInt.asIntN(longestSerialBits, serialNumber) === serialNumber ? String(serialNumber) : 'too long to be shown'
}

const longestSerialBits = 512

function isIssuedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

/** Among the certificates that the client sent along. */
function offeredIssuer(leaf: X509Certificate, certificate: X509Certificate): X509Certificate | undefined {
  let offered = leaf.issuerCertificate
  for (let depth = 0; offered !== undefined && depth < longestChain; depth++) {
    if (!offered.raw.equals(certificate.raw) && isIssuedBy(certificate, offered)) return offered
    if (offered.issuerCertificate?.raw.equals(offered.raw)) return undefined
    offered = offered.issuerCertificate
  }
  return undefined
}

function mustBeAllowedToIssue(issuer: CertificateFields, authoritiesBelow: number): void {
  if (!issuer.isCa) throw new UntrustedCertificate('x509: invalid signature: parent certificate cannot sign this kind of certificate')
  if (issuer.maxPathLength !== undefined && issuer.maxPathLength < authoritiesBelow)
    throw new UntrustedCertificate('x509: too many intermediates for path length constraint')
}

function mustBeUsable(fields: CertificateFields, nowMs: number): void {
  const time = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
  const untimely = 'x509: certificate has expired or is not yet valid'
  if (nowMs < fields.notBeforeMs)
    throw new UntrustedCertificate(`${untimely}: current time ${time(nowMs)} is before ${time(fields.notBeforeMs)}`)
  if (nowMs > fields.notAfterMs)
    throw new UntrustedCertificate(`${untimely}: current time ${time(nowMs)} is after ${time(fields.notAfterMs)}`)
  const { extendedKeyUsages: usages } = fields
  if (usages !== undefined && !usages.includes(extendedKeyUsageIds.clientAuth) && !usages.includes(extendedKeyUsageIds.any)) {
    throw new UntrustedCertificate('x509: certificate specifies an incompatible key usage')
  }
  if (weakSignatures.has(fields.signatureAlgorithm)) throw new UntrustedCertificate('x509: cannot verify signature: insecure algorithm')
  // Constraints on names that we would not enforce must not look enforced.
  if (fields.unknownCriticalExtensions.length > 0 || fields.extensionIds.includes(nameConstraints))
    throw new UntrustedCertificate('x509: unhandled critical extension')
}

function colonHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex').toUpperCase().match(/../g)?.join(':') ?? ''
}
