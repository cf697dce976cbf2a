import { join } from 'node:path'
import { issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Random } from '#base/random.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

export type CertificatePlace = { name: string; addresses: readonly string[]; directory: string }

/** The one that is given; else one of an authority that nobody knows, made once, as upstream does. */
export async function servingCertificate(
  { tlsCertFile, tlsPrivateKeyFile }: KubeletConfiguration,
  { name, addresses, directory }: CertificatePlace,
  { clock, random, files }: { clock: Clock; random: Random; files: Files },
): Promise<{ cert: string; key: string }> {
  if ((tlsCertFile === '') !== (tlsPrivateKeyFile === '')) {
    throw new Error('a certificate to serve with needs its key: give both --tls-cert-file and --tls-private-key-file, or neither')
  }
  if (tlsCertFile !== '') return { cert: await files.readText(tlsCertFile), key: await files.readText(tlsPrivateKeyFile) }
  const [certFile, keyFile] = [join(directory, 'kubelet.crt'), join(directory, 'kubelet.key')]
  const kept = { cert: await files.readTextIfPresent(certFile), key: await files.readTextIfPresent(keyFile) }
  if (kept.cert !== undefined && kept.key !== undefined) return { cert: kept.cert, key: kept.key }
  const { authority } = newAuthority('ca', clock.now(), random)
  const identity = {
    name: 'kubelet',
    signer: 'ca' as const,
    subject: { commonName: name },
    usages: ['serverAuth' as const],
    subjectAltNames: { dnsNames: [name, 'localhost'], ipAddresses: ['127.0.0.1', ...addresses] },
  }
  const { certificatePem, privateKeyPem } = issueIdentity(identity, authority, clock.now(), random)
  await files.makeDirectory(directory)
  await files.write(keyFile, privateKeyPem)
  await files.write(certFile, certificatePem, { mode: 0o644 })
  return { cert: certificatePem, key: privateKeyPem }
}
