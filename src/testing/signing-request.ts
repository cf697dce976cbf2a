/** Requests for certificates, as `openssl req` makes them. */
import { generateKeyPairSync } from 'node:crypto'
import type { SubjectAltNames } from '#wire/x509/certificate.ts'
import type { SubjectName } from '#wire/x509/distinguished-name.ts'
import { encodeSigningRequest } from '#wire/x509/signing-request.ts'

export type SigningRequestOptions = SubjectName & { subjectAltNames?: SubjectAltNames; hasBadSignature?: boolean }

/** The base64 for `spec.request`. */
export function signingRequest({ subjectAltNames = {}, hasBadSignature = false, ...subject }: SigningRequestOptions): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signed = hasBadSignature ? Buffer.from('something else') : undefined
  return Buffer.from(encodeSigningRequest({ subject, subjectAltNames, privateKey }, signed)).toString('base64')
}
