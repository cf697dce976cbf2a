import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import { bitString, explicit, integer, objectIdentifier, octetString, sequence, sequenceOf, setOf } from '#wire/der.ts'
import { encodePem } from '#wire/pem.ts'
import { generalNames, type SubjectAltNames } from '#wire/x509/certificate.ts'
import { encodeName, type SubjectName } from '#wire/x509/distinguished-name.ts'

export type SigningRequestContent = { subject: SubjectName; subjectAltNames?: SubjectAltNames; privateKey: KeyObject }

/** A request for a certificate (PKCS #10), in PEM, signed by a P-256 key. */
export function encodeSigningRequest({ subject, subjectAltNames = {}, privateKey }: SigningRequestContent, signed?: Uint8Array): string {
  const names = generalNames(subjectAltNames)
  const extensions = sequence(sequence(objectIdentifier('2.5.29.17'), octetString(sequenceOf(names))))
  const attribute = sequence(objectIdentifier('1.2.840.113549.1.9.14'), setOf([extensions]))
  const info = sequence(
    integer(0),
    encodeName(subject),
    createPublicKey(privateKey).export({ format: 'der', type: 'spki' }),
    ...(names.length > 0 ? [explicit(0, attribute)] : []),
  )
  const signature = sign('sha256', signed ?? info, privateKey)
  return encodePem('CERTIFICATE REQUEST', sequence(info, sequence(objectIdentifier('1.2.840.10045.4.3.2')), bitString(signature)))
}
