/** Requests for certificates, as `openssl req` makes them. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { bitString, explicit, integer, objectIdentifier, octetString, sequence, sequenceOf, setOf } from '#wire/der.ts'
import { encodePem } from '#wire/pem.ts'
import { generalNames, type SubjectAltNames } from '#wire/x509/certificate.ts'
import { encodeName, type SubjectName } from '#wire/x509/distinguished-name.ts'

export type SigningRequestOptions = SubjectName & { subjectAltNames?: SubjectAltNames; hasBadSignature?: boolean }

/** The base64 for `spec.request`. */
export function signingRequest({ subjectAltNames = {}, hasBadSignature = false, ...subject }: SigningRequestOptions): string {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const names = generalNames(subjectAltNames)
  const extensions = sequence(sequence(objectIdentifier('2.5.29.17'), octetString(sequenceOf(names))))
  const attribute = sequence(objectIdentifier('1.2.840.113549.1.9.14'), setOf([extensions]))
  const info = sequence(
    integer(0),
    encodeName(subject),
    publicKey.export({ format: 'der', type: 'spki' }),
    ...(names.length > 0 ? [explicit(0, attribute)] : []),
  )
  const signed = hasBadSignature ? Buffer.from('something else') : info
  const request = sequence(info, sequence(objectIdentifier('1.2.840.10045.4.3.2')), bitString(sign('sha256', signed, privateKey)))
  return Buffer.from(encodePem('CERTIFICATE REQUEST', request)).toString('base64')
}
