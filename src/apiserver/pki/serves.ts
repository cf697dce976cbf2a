import { X509Certificate } from 'node:crypto'
import type { Authority, KeyPair } from '#apiserver/pki/authority.ts'
import type { Identity } from '#apiserver/pki/identities.ts'
import { extendedKeyUsageIds } from '#wire/x509/certificate.ts'
import { readCertificate } from '#wire/x509/read-certificate.ts'

/** Whether a certificate found in the directory is what the identity needs: signer, subject, use, names and addresses. */
export function serves(pair: KeyPair, identity: Identity, authority: Authority): boolean {
  const certificate = new X509Certificate(pair.certificatePem)
  if (!certificate.checkIssued(authority.certificate) || !certificate.verify(authority.certificate.publicKey)) return false
  const fields = readCertificate(certificate.raw)
  const { subject } = fields
  const organizations = identity.subject.organizations ?? []
  if (subject.commonName !== identity.subject.commonName) return false
  if (subject.organization.length !== organizations.length || !organizations.every((name) => subject.organization.includes(name)))
    return false
  if (!identity.usages.every((usage) => fields.extendedKeyUsages?.includes(extendedKeyUsageIds[usage]))) return false
  const { dnsNames = [], ipAddresses = [] } = identity.subjectAltNames ?? {}
  const hasDnsName = (name: string) => certificate.checkHost(name, { wildcards: false, subject: 'never' }) !== undefined
  return dnsNames.every(hasDnsName) && ipAddresses.every((address) => certificate.checkIP(address) !== undefined)
}
