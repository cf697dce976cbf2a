import { generateKeyPairSync } from 'node:crypto'
import { encodePem } from '#wire/pem.ts'
import { encodedSubject, issueCertificate, keyIdentifier } from '#wire/x509/certificate.ts'

const dayMs = 24 * 3600 * 1000

/** A certificate for servers on 127.0.0.1 that is its own authority, and its key. */
export function selfSigned(): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = encodedSubject({ commonName: 'server' })
  const der = issueCertificate(
    {
      serialNumber: Uint8Array.of(1),
      subject,
      publicKey,
      notBeforeMs: Date.now() - dayMs,
      notAfterMs: Date.now() + dayMs,
      isCa: true,
      keyUsages: ['digitalSignature', 'keyCertSign'],
      subjectAltNames: { ipAddresses: ['127.0.0.1'] },
    },
    { subject, privateKey, keyId: keyIdentifier(publicKey) },
  )
  return { cert: encodePem('CERTIFICATE', der), key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() }
}
