/** What a further control plane needs of the first one's keys, handed over in the secret `kubeadm-certs` under a key that users carry. */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { join } from 'node:path'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { Files } from '#base/files.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { bootstrapTokenSecret, newBootstrapToken } from '#cmd/token/bootstrap-token-secret.ts'

/** As kubeadm calls them, and our own; the files of DATA-DIR/pki of the same names. */
const names = ['ca', 'front-proxy-ca', 'etcd-ca'].flatMap((name) => [`${name}.crt`, `${name}.key`])
const fileNames = [...names, 'sa.key', 'sa.pub', 'encryption.json']

/** Of an etcd that belongs to somebody else: kubeadm's names for what flags of `up` name. */
const etcdFileNames = {
  etcdCafile: 'external-etcd-ca.crt',
  etcdCertfile: 'external-etcd.crt',
  etcdKeyfile: 'external-etcd.key',
} as const
export type EtcdFiles = Readonly<Record<keyof typeof etcdFileNames, string>>

const place = { namespace: 'kube-system', name: 'kubeadm-certs' }
/** Upstream's: long enough to join, too short to be forgotten. */
const lifeMs = 2 * 3_600_000
const nonceBytes = 12
const tagBytes = 16

export const newCertificateKey = (random: Random): string => Buffer.from(random.bytes(32)).toString('hex')

/** A token that nobody can use owns the secret, so that it is collected when the token's time is over: as kubeadm does it. */
export async function uploadCertificates(
  client: Client,
  { dataDir, etcdFiles, certificateKey, nowMs }: { dataDir: string; etcdFiles: EtcdFiles; certificateKey: string; nowMs: number },
  { files, random }: { files: Files; random: Random },
): Promise<void> {
  const key = keyOf(certificateKey)
  const paths = new Map(fileNames.map((name) => [name, join(dataDir, 'pki', name)]))
  for (const [flag, name] of Object.entries(etcdFileNames)) {
    const path = etcdFiles[flag as keyof EtcdFiles]
    if (path !== '') paths.set(name, path)
  }
  const data: Record<string, string> = {}
  for (const [name, path] of paths) {
    const text = await files.readTextIfPresent(path)
    if (text !== undefined) data[name] = Buffer.from(sealed(key, Buffer.from(text), random)).toString('base64')
  }
  const description = 'Proxy for managing TTL for the kubeadm-certs secret'
  const token = bootstrapTokenSecret(newBootstrapToken(random), { description, groups: [], expiresMs: nowMs + lifeMs })
  const { 'usage-bootstrap-authentication': _, 'usage-bootstrap-signing': __, ...stringData } = token.stringData ?? {}
  const owner = await client.create(Secret, { ...token, stringData })
  const ownerReferences = [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      name: owner.metadata.name ?? '',
      uid: owner.metadata.uid ?? '',
      controller: true,
      blockOwnerDeletion: true,
    },
  ]
  await client.delete(Secret, place).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
  })
  await client.create(Secret, { metadata: { ...place, ownerReferences }, data })
}

/** Lays them into DATA-DIR/pki; resolves with the paths of those for an etcd elsewhere. */
export async function downloadCertificates(
  client: Client,
  { dataDir, certificateKey }: { dataDir: string; certificateKey: string },
  files: Files,
): Promise<EtcdFiles> {
  const key = keyOf(certificateKey)
  const { data = {} } = await client.get(Secret, place.namespace, place.name).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
    throw new Error('the cluster offers no certificates: `typernetes init phase upload-certs` there offers them for two hours', {
      cause: error,
    })
  })
  const etcdFiles = { etcdCafile: '', etcdCertfile: '', etcdKeyfile: '' }
  const directory = join(dataDir, 'pki')
  await files.makeDirectory(directory, { mode: 0o700 })
  for (const name of [...fileNames, ...Object.values(etcdFileNames)]) {
    const value = data[name]
    if (value === undefined) continue
    await files.write(join(directory, name), opened(key, Buffer.from(value, 'base64')), { mode: /\.(crt|pub)$/.test(name) ? 0o644 : 0o600 })
    for (const [flag, file] of Object.entries(etcdFileNames)) if (file === name) etcdFiles[flag as keyof EtcdFiles] = join(directory, name)
  }
  return etcdFiles
}

function keyOf(certificateKey: string): Buffer {
  if (!/^[0-9a-f]{64}$/.test(certificateKey)) throw new Error('--certificate-key: it is not 64 hexadecimal digits')
  return Buffer.from(certificateKey, 'hex')
}

function sealed(key: Buffer, bytes: Buffer, random: Random): Uint8Array {
  const nonce = random.bytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
}

function opened(key: Buffer, bytes: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
  } catch (error) {
    throw new Error('--certificate-key: it is not the one that the certificates were uploaded with', { cause: error })
  }
}
