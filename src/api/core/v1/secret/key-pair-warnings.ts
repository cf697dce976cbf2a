/** What is wrong with a certificate and the key that should belong to it, in the words of Go's TLS library. */
import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { decodePemBlocks, encodePem } from '#wire/pem.ts'

/** Both in base64. */
export function keyPairWarnings(certificate: string | undefined, key: string | undefined): string[] {
  const wrong = keyPairError(decoded(certificate), decoded(key))
  return wrong === undefined ? [] : [wrong]
}

const decoded = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString('latin1')

function keyPairError(certificatePem: string, keyPem: string): string | undefined {
  const blocks = decodePemBlocks(certificatePem)
  const leaf = blocks.find(({ type }) => type === 'CERTIFICATE')
  if (leaf === undefined) return missingCertificate(blocks.map(({ type }) => type))
  const keyBlocks = decodePemBlocks(keyPem)
  const keyBlock = keyBlocks.find(({ type }) => type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY'))
  if (keyBlock === undefined) return missingKey(keyBlocks.map(({ type }) => type))
  const publicKey = publicKeyOf(leaf.bytes)
  if (publicKey === undefined) return 'x509: malformed certificate'
  const privateKey = privateKeyOf(encodePem(keyBlock.type, keyBlock.bytes))
  if (privateKey === undefined) return 'tls: failed to parse private key'
  return mismatch(publicKey, privateKey)
}

function missingCertificate(types: readonly string[]): string {
  if (types.length === 0) return 'tls: failed to find any PEM data in certificate input'
  if (types.length === 1 && types[0]?.endsWith('PRIVATE KEY')) {
    return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched'
  }
  const skipped = `[${types.join(' ')}]`
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: ${skipped}`
}

function missingKey(types: readonly string[]): string {
  if (types.length === 0) return 'tls: failed to find any PEM data in key input'
  if (types.length === 1 && types[0] === 'CERTIFICATE') return 'tls: found a certificate rather than a key in the PEM for the private key'
  const skipped = `[${types.join(' ')}]`
  const wanted = 'PEM block with type ending in "PRIVATE KEY" in key input'
  return `tls: failed to find ${wanted} after skipping PEM blocks of the following types: ${skipped}`
}

function publicKeyOf(certificate: Uint8Array): KeyObject | undefined {
  try {
    return new X509Certificate(certificate).publicKey
  } catch {
    return undefined
  }
}

function privateKeyOf(key: string): KeyObject | undefined {
  try {
    return createPrivateKey(key)
  } catch {
    return undefined
  }
}

function mismatch(publicKey: KeyObject, privateKey: KeyObject): string | undefined {
  if (publicKey.asymmetricKeyType !== privateKey.asymmetricKeyType) return 'tls: private key type does not match public key type'
  const ofPrivate = createPublicKey(privateKey)
  const isSame = publicKey.export({ type: 'spki', format: 'der' }).equals(ofPrivate.export({ type: 'spki', format: 'der' }))
  return isSame ? undefined : 'tls: private key does not match public key'
}
