import { join } from 'node:path'
import { issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Random } from '#base/random.ts'

export type ServingPlace = {
  tlsCertFile: string
  tlsPrivateKeyFile: string
  certDir: string
  /** What clients call the server. */
  dnsNames: readonly string[]
  ipAddresses: readonly string[]
}

/** The files that are given; else a certificate of an authority that nobody knows, made once, as upstream does. */
export async function servingFiles(
  { tlsCertFile, tlsPrivateKeyFile, certDir, dnsNames, ipAddresses }: ServingPlace,
  { clock, random, files }: { clock: Clock; random: Random; files: Files },
): Promise<{ certificate: string; key: string }> {
  if ((tlsCertFile === '') !== (tlsPrivateKeyFile === ''))
    throw new Error('--tls-cert-file and --tls-private-key-file must be specified together')
  if (tlsCertFile !== '') return { certificate: tlsCertFile, key: tlsPrivateKeyFile }
  const place = { certificate: join(certDir, 'apiserver.crt'), key: join(certDir, 'apiserver.key') }
  if ((await files.stat(place.certificate)) !== undefined && (await files.stat(place.key)) !== undefined) return place
  const { authority } = newAuthority('ca', clock.now(), random)
  const identity = {
    name: 'apiserver',
    signer: 'ca' as const,
    subject: { commonName: 'kube-apiserver' },
    usages: ['serverAuth' as const],
    subjectAltNames: { dnsNames: [...dnsNames], ipAddresses: [...ipAddresses] },
  }
  const { certificatePem, privateKeyPem } = issueIdentity(identity, authority, clock.now(), random)
  await files.makeDirectory(certDir)
  await files.write(place.key, privateKeyPem)
  // With its authority, so that whoever wants to can trust it by this file.
  await files.write(place.certificate, certificatePem + authority.certificatePem, { mode: 0o644 })
  return place
}
