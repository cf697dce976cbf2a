import { X509Certificate } from 'node:crypto'
import { type AuthorityName, authorities, type Identity } from '#apiserver/pki/identities.ts'
import type { KeyDirectory } from '#apiserver/pki/key-directory.ts'
import { defined } from '#base/defined.ts'
import { type ExtendedKeyUsage, extendedKeyUsageIds } from '#wire/x509/certificate.ts'
import { readCertificate } from '#wire/x509/read-certificate.ts'

/**
 * The identities that a directory holds, read off their certificates: what `certs status` shows and `certs renew` issues anew,
 * without knowing what the cluster was started with.
 */
export async function storedIdentities(directory: KeyDirectory): Promise<Identity[]> {
  const trusted = (await Promise.all((Object.keys(authorities) as AuthorityName[]).map((name) => directory.readAuthority(name)))).filter(
    (authority) => authority !== undefined,
  )
  const found = await Promise.all(
    (await directory.identities()).map(async (name): Promise<Identity | undefined> => {
      const pair = await directory.readIdentity(name)
      if (pair === undefined) return undefined
      const certificate = new X509Certificate(pair.certificatePem)
      const signer = trusted.find((authority) => certificate.verify(authority.certificate.publicKey))
      if (signer === undefined) return undefined
      const { subject, extendedKeyUsages = [], dnsNames, ipAddresses } = readCertificate(certificate.raw)
      const hasNames = dnsNames.length + ipAddresses.length > 0
      return {
        name,
        signer: signer.name,
        subject: { commonName: subject.commonName, organizations: subject.organization },
        usages: (Object.keys(extendedKeyUsageIds) as ExtendedKeyUsage[]).filter((usage) =>
          extendedKeyUsages.includes(extendedKeyUsageIds[usage]),
        ),
        ...defined({ subjectAltNames: hasNames ? { dnsNames, ipAddresses } : undefined }),
      }
    }),
  )
  return found.filter((identity) => identity !== undefined)
}
