import { generateKeyPairSync } from 'node:crypto'
import type { Random } from '#base/random.ts'
import { encodePem } from '#wire/pem.ts'
import { encodedSubject, issueCertificate, keyIdentifier } from '#wire/x509/certificate.ts'

const lifeMs = 10 * 365 * 86_400_000
const dayMs = 86_400_000

/** A certificate that nobody trusts: for hosts that have none, so that clients learn which server they have reached. */
export function selfSignedCertificate(
  commonName: string,
  dnsNames: readonly string[],
  { nowMs, random }: { nowMs: number; random: Random },
): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = encodedSubject({ commonName })
  const certificate = issueCertificate(
    {
      ...{ serialNumber: random.bytes(16), subject, publicKey, notBeforeMs: nowMs - dayMs, notAfterMs: nowMs + lifeMs },
      ...{ keyUsages: ['digitalSignature'], extendedKeyUsages: ['serverAuth'], subjectAltNames: { dnsNames } },
    },
    { subject, privateKey, keyId: keyIdentifier(publicKey) },
  )
  return { cert: encodePem('CERTIFICATE', certificate), key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() }
}
