/** What is wrong with the PEM texts that certificate requests carry, in the words clients know. */

import { X509Certificate } from 'node:crypto'
import { quoted } from '#api/meta/check.ts'
import { errorMessage } from '#base/error-message.ts'
import { type CertificateRequest, checkSignature, parseCertificateRequest } from '#wire/certificate-request.ts'
import { decodePem, decodePemBlocks } from '#wire/pem.ts'

/** The request inside the base64 of `spec.request`; throws, in upstream's words, when there is none. */
export function parseSigningRequest(base64: string): CertificateRequest {
  const { block } = decodePem(textOf(base64))
  if (block?.type !== 'CERTIFICATE REQUEST') throw new Error('PEM block type must be CERTIFICATE REQUEST')
  return parseCertificateRequest(block.bytes)
}

/** Why the request cannot be signed: its form, or the proof that its maker holds the key. */
export function signingRequestError(base64: string): string | undefined {
  try {
    checkSignature(parseSigningRequest(base64))
    return undefined
  } catch (error) {
    return errorMessage(error)
  }
}

/** Why the base64 of an issued certificate is none; an absent one is fine. */
export function certificateError(base64: string | undefined): string | undefined {
  if (!base64) return undefined
  const blocks = decodePemBlocks(textOf(base64))
  for (const { type, headers, bytes } of blocks) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${quoted(type)}`
    if (Object.keys(headers).length > 0) return 'no PEM block headers are permitted'
    if (bytes.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates'
    if (!isCertificate(bytes)) return 'x509: malformed certificate'
  }
  return blocks.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined
}

function isCertificate(der: Uint8Array): boolean {
  try {
    new X509Certificate(der)
    return true
  } catch {
    return false
  }
}

// Latin-1 keeps every byte, whatever it is.
const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('latin1')
