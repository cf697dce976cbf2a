import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { type AuthorityName, authorities, type Identity } from '#apiserver/pki/identities.ts'
import { defined } from '#base/defined.ts'
import type { Random } from '#base/random.ts'
import { encodePem } from '#wire/pem.ts'
import { type CertificateSigner, encodedSubject, issueCertificate, keyIdentifier } from '#wire/x509/certificate.ts'
import { readCertificate } from '#wire/x509/read-certificate.ts'

export type KeyPair = {
  readonly certificatePem: string
  readonly privateKeyPem: string
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** A certificate authority. Without a key (kept elsewhere by its owner) it can be trusted but issues nothing. */
export type Authority = {
  readonly name: AuthorityName
  readonly certificatePem: string
  readonly certificate: X509Certificate
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly signer: CertificateSigner | undefined
}

const dayMs = 24 * 3600 * 1000
const authorityLifeMs = 3650 * dayMs
const certificateLifeMs = 365 * dayMs
/** Machines' clocks differ; a certificate from the future is refused. */
const backdateMs = 5 * 60 * 1000

export function newAuthority(name: AuthorityName, nowMs: number, random: Random): { authority: Authority; privateKeyPem: string } {
  const { privateKey, publicKey } = newKeys()
  const subject = encodedSubject(authorities[name])
  const certificatePem = selfSigned({ name, subject, privateKey, publicKey, keyId: keyIdentifier(publicKey), nowMs, random })
  return { authority: readAuthority(name, certificatePem, privateKey), privateKeyPem: pemOf(privateKey) }
}

/** The same name and key with a new term: whatever was issued, and whoever trusts the old certificate, is not affected. */
export function renewedAuthority(old: Authority, nowMs: number, random: Random): Authority {
  const { signer, name } = old
  if (signer === undefined) return old
  const { subject, privateKey, keyId } = signer
  const certificatePem = selfSigned({ name, subject, privateKey, publicKey: old.certificate.publicKey, keyId, nowMs, random })
  return readAuthority(name, certificatePem, privateKey)
}

export function readAuthority(name: AuthorityName, certificatePem: string, privateKey: KeyObject | string | undefined): Authority {
  const certificate = new X509Certificate(certificatePem)
  const fields = readCertificate(certificate.raw)
  if (!fields.isCa) throw new Error(`${name}.crt is not the certificate of an authority`)
  const key = typeof privateKey === 'string' ? createPrivateKey(privateKey) : privateKey
  if (key !== undefined && !certificate.checkPrivateKey(key)) throw new Error(`${name}.key does not belong to ${name}.crt`)
  const keyId = fields.subjectKeyId.length > 0 ? fields.subjectKeyId : keyIdentifier(certificate.publicKey)
  return {
    name,
    certificatePem,
    certificate,
    notBeforeMs: fields.notBeforeMs,
    notAfterMs: fields.notAfterMs,
    signer: key === undefined ? undefined : { subject: fields.encodedSubject, privateKey: key, keyId },
  }
}

/** A new key and a certificate for it, which never outlives the authority. */
export function issueIdentity(
  identity: Identity,
  authority: Authority,
  nowMs: number,
  random: Random,
  lifeMs = certificateLifeMs,
): KeyPair {
  if (authority.signer === undefined) {
    throw new Error(
      `cannot issue the certificate ${identity.name}: ${authority.name}.key is not there; put the key or ${identity.name}.pem beside ${authority.name}.crt`,
    )
  }
  const { privateKey, publicKey } = newKeys()
  const notBeforeMs = nowMs - backdateMs
  const notAfterMs = Math.min(nowMs + lifeMs, authority.notAfterMs)
  const der = issueCertificate(
    {
      serialNumber: random.bytes(16),
      subject: identity.subject,
      publicKey,
      notBeforeMs,
      notAfterMs,
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: identity.usages,
      ...defined({ subjectAltNames: identity.subjectAltNames }),
    },
    authority.signer,
  )
  return { certificatePem: encodePem('CERTIFICATE', der), privateKeyPem: pemOf(privateKey), notBeforeMs, notAfterMs }
}

type SelfSigning = {
  name: AuthorityName
  subject: Uint8Array
  privateKey: KeyObject
  publicKey: KeyObject
  keyId: Uint8Array
  nowMs: number
  random: Random
}

function selfSigned({ name, subject, privateKey, publicKey, keyId, nowMs, random }: SelfSigning): string {
  const der = issueCertificate(
    {
      serialNumber: random.bytes(16),
      subject,
      publicKey,
      notBeforeMs: nowMs - backdateMs,
      notAfterMs: nowMs + authorityLifeMs,
      isCa: true,
      keyUsages: ['digitalSignature', 'keyCertSign'],
      subjectKeyId: keyId,
      subjectAltNames: { dnsNames: [authorities[name].commonName] },
    },
    { subject, privateKey, keyId },
  )
  return encodePem('CERTIFICATE', der)
}

function newKeys(): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

export function pemOf(privateKey: KeyObject): string {
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
}
