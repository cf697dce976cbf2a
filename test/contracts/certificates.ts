/** Certificates for tests that need TLS on both sides. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { systemRandom } from '#base/random.ts'
import { encodePem } from '#wire/pem.ts'
import { type CertificateContent, type CertificateSigner, encodedSubject, issueCertificate, keyIdentifier } from '#wire/x509/certificate.ts'

export type TestIdentity = { certificate: string; key: string }

/** An authority and what it has signed: a server on loopback, a client, and a client of somebody else's. */
export function testCertificates(): { authority: string; server: TestIdentity; client: TestIdentity; stranger: TestIdentity } {
  const authority = testAuthority('ours')
  return {
    authority: authority.pem,
    server: authority.issue('server', {
      extendedKeyUsages: ['serverAuth', 'clientAuth'],
      subjectAltNames: { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] },
    }),
    client: authority.issue('client', { extendedKeyUsages: ['clientAuth'] }),
    stranger: testAuthority('theirs').issue('stranger', { extendedKeyUsages: ['clientAuth'] }),
  }
}

export function testAuthority(name: string) {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = { commonName: `${name} authority` }
  const signer: CertificateSigner = { subject: encodedSubject(subject), privateKey: keys.privateKey, keyId: keyIdentifier(keys.publicKey) }
  const pem = certificatePem({ subject, publicKey: keys.publicKey, isCa: true, keyUsages: ['keyCertSign', 'digitalSignature'] }, signer)
  return {
    pem,
    issue(commonName: string, content: Partial<CertificateContent>): TestIdentity {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return {
        certificate: certificatePem(
          { subject: { commonName }, publicKey: own.publicKey, keyUsages: ['digitalSignature'], ...content },
          signer,
        ),
        key: own.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      }
    },
  }
}

type Unsigned = Pick<CertificateContent, 'subject' | 'isCa' | 'keyUsages'> & { publicKey: KeyObject }

function certificatePem(content: Unsigned, signer: CertificateSigner): string {
  const serialNumber = systemRandom.bytes(16)
  const hourMs = 3_600_000
  return encodePem(
    'CERTIFICATE',
    issueCertificate({ ...content, serialNumber, notBeforeMs: Date.now() - hourMs, notAfterMs: Date.now() + 24 * hourMs }, signer),
  )
}
