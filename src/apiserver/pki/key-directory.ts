import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { type Authority, type KeyPair, readAuthority } from '#apiserver/pki/authority.ts'
import type { AuthorityName } from '#apiserver/pki/identities.ts'
import type { Files } from '#base/files.ts'
import { decodePemBlocks, encodePem } from '#wire/pem.ts'
import { readCertificate } from '#wire/x509/read-certificate.ts'

/**
 * Where a cluster keeps its keys. An identity is one file with certificate and key, so that the pair changes in one step;
 * authorities and the service account key have two files each, since their public halves are handed out.
 */
export type KeyDirectory = {
  readAuthority(name: AuthorityName): Promise<Authority | undefined>
  writeAuthority(authority: Authority, privateKeyPem?: string): Promise<void>
  /** Names of the identities that are kept. */
  identities(): Promise<string[]>
  readIdentity(name: string): Promise<KeyPair | undefined>
  writeIdentity(name: string, pair: KeyPair): Promise<void>
  readServiceAccountKeys(): Promise<ServiceAccountKeys | undefined>
  writeServiceAccountKeys(privateKeyPem: string, publicKeyPem: string): Promise<void>
  /** Calls back when a file may have been changed by somebody. */
  watch(onChange: () => void): Disposable
}

/** Tokens are signed with the private key and believed if one of the public ones fits. */
export type ServiceAccountKeys = { readonly privateKey: KeyObject; readonly publicKeys: readonly KeyObject[] }

const secret = { mode: 0o600 }
const handedOut = { mode: 0o644 }

/** Makes the directory, and closes it and the keys in it to everybody but the owner where they are not. */
export async function openKeyDirectory(files: Files, directory: string): Promise<KeyDirectory> {
  await files.makeDirectory(directory, { mode: 0o700 })
  const stat = await files.stat(directory)
  if (stat !== undefined && (stat.mode & 0o077) !== 0) await files.setMode(directory, 0o700)
  const at = (name: string) => join(directory, name)
  const readSecret = async (name: string) => {
    const text = await files.readTextIfPresent(at(name))
    if (text === undefined) return undefined
    const stat = await files.stat(at(name))
    if (stat?.kind === 'file' && (stat.mode & 0o077) !== 0) await files.setMode(at(name), secret.mode)
    return text
  }
  return {
    async readAuthority(name) {
      const [certificatePem, privateKeyPem] = await Promise.all([files.readTextIfPresent(at(`${name}.crt`)), readSecret(`${name}.key`)])
      return certificatePem === undefined ? undefined : readAuthority(name, certificatePem, privateKeyPem)
    },
    async writeAuthority(authority, privateKeyPem) {
      // The key first: a certificate without its key would look like an authority whose key is kept elsewhere.
      if (privateKeyPem !== undefined) await files.write(at(`${authority.name}.key`), privateKeyPem, secret)
      await files.write(at(`${authority.name}.crt`), authority.certificatePem, handedOut)
    },
    async identities() {
      const names = await files.list(directory)
      return names.filter((name) => name.endsWith('.pem')).map((name) => name.slice(0, -'.pem'.length))
    },
    async readIdentity(name) {
      const text = await readSecret(`${name}.pem`)
      return text === undefined ? undefined : keyPairOf(text)
    },
    async writeIdentity(name, pair) {
      const text = pair.certificatePem + pair.privateKeyPem
      // A new file need not survive a power cut: what is missing or damaged is issued anew. Waiting for the disk ten times would
      // take most of the time that the first start of a cluster takes.
      if (!(await files.createExclusive(at(`${name}.pem`), text, secret))) await files.write(at(`${name}.pem`), text, secret)
    },
    async readServiceAccountKeys() {
      const [privateKeyPem, publicKeysPem = ''] = await Promise.all([readSecret('sa.key'), files.readTextIfPresent(at('sa.pub'))])
      return privateKeyPem === undefined ? undefined : serviceAccountKeysOf(privateKeyPem, publicKeysPem)
    },
    async writeServiceAccountKeys(privateKeyPem, publicKeyPem) {
      await Promise.all([files.write(at('sa.key'), privateKeyPem, secret), files.write(at('sa.pub'), publicKeyPem, handedOut)])
    },
    watch: (onChange) => files.watch(directory, onChange),
  }
}

/** Keeps nothing beyond the process. */
export function memoryKeyDirectory(): KeyDirectory {
  const kept = new Map<string, Authority>()
  const pairs = new Map<string, KeyPair>()
  let serviceAccountKeys: ServiceAccountKeys | undefined
  return {
    readAuthority: async (name) => kept.get(name),
    async writeAuthority(authority) {
      kept.set(authority.name, authority)
    },
    identities: async () => [...pairs.keys()],
    readIdentity: async (name) => pairs.get(name),
    async writeIdentity(name, pair) {
      pairs.set(name, pair)
    },
    readServiceAccountKeys: async () => serviceAccountKeys,
    async writeServiceAccountKeys(privateKeyPem, publicKeyPem) {
      serviceAccountKeys = serviceAccountKeysOf(privateKeyPem, publicKeyPem)
    },
    watch: () => ({ [Symbol.dispose]() {} }),
  }
}

/** Undefined when the text does not hold a certificate and the key that belongs to it. */
function keyPairOf(text: string): KeyPair | undefined {
  const blocks = decodePemBlocks(text)
  const certificates = blocks.filter(({ type }) => type === 'CERTIFICATE')
  const key = blocks.find(({ type }) => type.endsWith('PRIVATE KEY'))
  const [leaf] = certificates
  if (leaf === undefined || key === undefined) return undefined
  const privateKeyPem = encodePem(key.type, key.bytes)
  try {
    if (!new X509Certificate(leaf.bytes).checkPrivateKey(createPrivateKey(privateKeyPem))) return undefined
    const { notBeforeMs, notAfterMs } = readCertificate(leaf.bytes)
    const certificatePem = certificates.map(({ type, bytes }) => encodePem(type, bytes)).join('')
    return { certificatePem, privateKeyPem, notBeforeMs, notAfterMs }
  } catch {
    return undefined
  }
}

/** Further public keys stay trusted while tokens of a replaced signing key are about. */
function serviceAccountKeysOf(privateKeyPem: string, publicKeysPem: string): ServiceAccountKeys {
  const privateKey = createPrivateKey(privateKeyPem)
  const own = createPublicKey(privateKey)
  const others = decodePemBlocks(publicKeysPem)
    .map(({ type, bytes }) => createPublicKey(encodePem(type, bytes)))
    .filter((key) => !key.equals(own))
  return { privateKey, publicKeys: [own, ...others] }
}
