import { createHash, type KeyObject, sign } from 'node:crypto'
import {
  bitString,
  boolean,
  DerReader,
  explicit,
  implicit,
  integer,
  namedBits,
  nothing,
  objectIdentifier,
  octetString,
  readBitString,
  sequence,
  sequenceOf,
  time,
} from '#wire/der.ts'
import { encodeName, type SubjectName } from '#wire/x509/distinguished-name.ts'
import { ipAddressOctets } from '#wire/x509/ip-address.ts'

export type KeyUsage =
  | 'digitalSignature'
  | 'contentCommitment'
  | 'keyEncipherment'
  | 'dataEncipherment'
  | 'keyAgreement'
  | 'keyCertSign'
  | 'cRLSign'
  | 'encipherOnly'
  | 'decipherOnly'
export type ExtendedKeyUsage = keyof typeof extendedKeyUsageIds

export type SubjectAltNames = {
  dnsNames?: readonly string[]
  ipAddresses?: readonly string[]
  emailAddresses?: readonly string[]
  uris?: readonly string[]
}

export type CertificateContent = {
  /** Positive, at most 20 octets; the top bit of the first is cleared. */
  serialNumber: Uint8Array
  /** A name to encode, or one that is encoded already (from a certificate request). */
  subject: SubjectName | Uint8Array
  publicKey: KeyObject
  notBeforeMs: number
  notAfterMs: number
  isCa?: boolean
  keyUsages?: readonly KeyUsage[]
  extendedKeyUsages?: readonly ExtendedKeyUsage[]
  subjectAltNames?: SubjectAltNames
  /** Of an authority, where it is not made from the key: a renewed one must keep what its certificates point to. */
  subjectKeyId?: Uint8Array
}

/** Who signs: the authority's encoded subject, its key, and the identifier of that key; empty where its certificate has none. */
export type CertificateSigner = { subject: Uint8Array; privateKey: KeyObject; keyId: Uint8Array }

const keyUsageBits: readonly KeyUsage[] = [
  'digitalSignature',
  'contentCommitment',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
]

export const extendedKeyUsageIds = {
  any: '2.5.29.37.0',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  ipsecEndSystem: '1.3.6.1.5.5.7.3.5',
  ipsecTunnel: '1.3.6.1.5.5.7.3.6',
  ipsecUser: '1.3.6.1.5.5.7.3.7',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  ocspSigning: '1.3.6.1.5.5.7.3.9',
  microsoftSgc: '1.3.6.1.4.1.311.10.3.3',
  netscapeSgc: '2.16.840.1.113730.4.1',
} as const

const extensionIds = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const

const version3 = 2

/** A signed X.509 v3 certificate in DER. */
export function issueCertificate(content: CertificateContent, signer: CertificateSigner): Uint8Array {
  const algorithm = signatureAlgorithm(signer.privateKey)
  const toBeSigned = sequence(
    explicit(0, integer(version3)),
    integer(positive(content.serialNumber)),
    algorithm.identifier,
    signer.subject,
    sequence(time(content.notBeforeMs), time(content.notAfterMs)),
    encodedSubject(content.subject),
    content.publicKey.export({ format: 'der', type: 'spki' }),
    explicit(3, sequenceOf(extensions(content, signer))),
  )
  return sequence(toBeSigned, algorithm.identifier, bitString(sign(algorithm.hash, toBeSigned, signer.privateKey)))
}

export function encodedSubject(subject: SubjectName | Uint8Array): Uint8Array {
  return subject instanceof Uint8Array ? subject : encodeName(subject)
}

/** RFC 7093, method 1: the first 160 bits of SHA-256 over the key's bits. */
export function keyIdentifier(publicKey: KeyObject): Uint8Array {
  const spki = new DerReader(publicKey.export({ format: 'der', type: 'spki' })).enter()
  spki.read()
  const { bytes } = readBitString(spki.read())
  return createHash('sha256').update(bytes).digest().subarray(0, 20)
}

function extensions(content: CertificateContent, signer: CertificateSigner): Uint8Array[] {
  const { keyUsages = [], extendedKeyUsages = [], subjectAltNames = {} } = content
  const list: Uint8Array[] = []
  if (keyUsages.length > 0) list.push(extension('keyUsage', namedBits(keyUsages.map((usage) => keyUsageBits.indexOf(usage))), true))
  if (extendedKeyUsages.length > 0) {
    list.push(extension('extendedKeyUsage', sequenceOf(extendedKeyUsages.map((usage) => objectIdentifier(extendedKeyUsageIds[usage])))))
  }
  list.push(extension('basicConstraints', content.isCa ? sequence(boolean(true)) : sequence(), true))
  if (content.isCa) list.push(extension('subjectKeyIdentifier', octetString(content.subjectKeyId ?? keyIdentifier(content.publicKey))))
  if (signer.keyId.length > 0) list.push(extension('authorityKeyIdentifier', sequence(implicit(0, signer.keyId))))
  const names = generalNames(subjectAltNames)
  // Whoever has no other name than these must not overlook them (RFC 5280, 4.2.1.6).
  const isNameless = encodedSubject(content.subject).length === sequence().length
  if (names.length > 0) list.push(extension('subjectAltName', sequenceOf(names), isNameless))
  return list
}

function extension(id: keyof typeof extensionIds, value: Uint8Array, isCritical = false): Uint8Array {
  return sequence(objectIdentifier(extensionIds[id]), ...(isCritical ? [boolean(true)] : []), octetString(value))
}

export function generalNames({ dnsNames = [], ipAddresses = [], emailAddresses = [], uris = [] }: SubjectAltNames): Uint8Array[] {
  const text = (value: string) => Buffer.from(value, 'latin1')
  return [
    ...dnsNames.map((name) => implicit(2, text(name))),
    ...emailAddresses.map((address) => implicit(1, text(address))),
    ...ipAddresses.map((address) => implicit(7, ipAddressOctets(address))),
    ...uris.map((uri) => implicit(6, text(uri))),
  ]
}

function positive(serialNumber: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(serialNumber)
  copy[0] = (copy[0] ?? 0) & 0x7f
  return copy
}

function signatureAlgorithm(key: KeyObject): { identifier: Uint8Array; hash: string | null } {
  switch (key.asymmetricKeyType) {
    case 'ec':
      switch (key.asymmetricKeyDetails?.namedCurve) {
        case 'secp384r1':
          return { identifier: sequence(objectIdentifier('1.2.840.10045.4.3.3')), hash: 'sha384' }
        case 'secp521r1':
          return { identifier: sequence(objectIdentifier('1.2.840.10045.4.3.4')), hash: 'sha512' }
        default:
          return { identifier: sequence(objectIdentifier('1.2.840.10045.4.3.2')), hash: 'sha256' }
      }
    case 'rsa':
      return { identifier: sequence(objectIdentifier('1.2.840.113549.1.1.11'), nothing()), hash: 'sha256' }
    case 'ed25519':
      return { identifier: sequence(objectIdentifier('1.3.101.112')), hash: null }
    default:
      throw new Error(`cannot sign certificates with a key of type ${key.asymmetricKeyType}`)
  }
}
