/** PKCS #10: who asks for a certificate, under which names, and the proof that the key is theirs. */

import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { append } from '#base/append.ts'
import {
  childrenOf,
  DerError,
  DerReader,
  type DerValue,
  explicitTag,
  implicitTag,
  readBitString,
  readBoolean,
  readDer,
  readInteger,
  readObjectIdentifier,
  readString,
  tags,
} from '#wire/der.ts'

/** A distinguished name. Attributes without a field of their own are in `attributes` only, which has all in order. */
export type DistinguishedName = {
  commonName: string
  organization: string[]
  organizationalUnit: string[]
  attributes: { type: string; value: string }[]
}

export type AlternativeNames = { dnsNames: string[]; emailAddresses: string[]; ipAddresses: Uint8Array[]; uris: string[] }

export type X509Extension = { id: string; critical: boolean; value: Uint8Array }

export type CertificateRequest = AlternativeNames & {
  subject: DistinguishedName
  publicKey: KeyObject
  /** SubjectPublicKeyInfo as it came. */
  publicKeyInfo: Uint8Array
  extensions: X509Extension[]
  signatureAlgorithm: string
  signature: Uint8Array
  /** What the signature covers. */
  signed: Uint8Array
}

const oids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  organizationalUnit: '2.5.4.11',
  extensionRequest: '1.2.840.113549.1.9.14',
  subjectAltName: '2.5.29.17',
}

/** Go's words for what is wrong with DER: clients see them. */
const syntaxError = (detail: string) => new DerError(`asn1: syntax error: ${detail}`)
const structureError = (detail: string) => new DerError(`asn1: structure error: ${detail}`)

export function parseCertificateRequest(der: Uint8Array): CertificateRequest {
  const outer = structured(() => topLevelSequence(der))
  const info = structured(() => outer.read(tags.sequence))
  return structured(() => {
    const signatureAlgorithm = readObjectIdentifier(outer.enter().read(tags.objectIdentifier))
    const signature = readBitString(outer.read(tags.bitString)).bytes
    const reader = new DerReader(info.content)
    readInteger(reader.read(tags.integer))
    const subject = readDistinguishedName(reader.read(tags.sequence))
    const publicKeyInfo = reader.read(tags.sequence).bytes
    const attributes = reader.readOptional(explicitTag(0))
    const extensions = attributes === undefined ? [] : requestedExtensions(attributes)
    return {
      subject,
      ...alternativeNames(extensions),
      publicKey: readPublicKey(publicKeyInfo),
      publicKeyInfo,
      extensions,
      signatureAlgorithm,
      signature,
      signed: info.bytes,
    }
  })
}

/** Whether whoever made the request holds its key; throws, in Go's words, if not. */
export function checkSignature(request: CertificateRequest): void {
  const algorithm = signatureAlgorithms[request.signatureAlgorithm]
  if (algorithm === undefined) throw new Error('x509: cannot verify signature: algorithm unimplemented')
  const type = request.publicKey.asymmetricKeyType
  if (type !== algorithm.key) {
    throw new Error(
      `x509: signature algorithm specifies an ${algorithm.family} public key, but have public key of type ${goKeyTypes[type ?? ''] ?? 'unknown'}`,
    )
  }
  const options = algorithm.isPss ? { key: request.publicKey, padding: 6, saltLength: -1 } : request.publicKey
  if (!verify(algorithm.hash, request.signed, options, request.signature)) throw new Error(algorithm.failure)
}

type SignatureAlgorithm = { key: string; family: string; hash: string | null; failure: string; isPss?: true }

const rsa = (hash: string): SignatureAlgorithm => ({ key: 'rsa', family: 'RSA', hash, failure: 'crypto/rsa: verification error' })
const ecdsa = (hash: string): SignatureAlgorithm => ({ key: 'ec', family: 'ECDSA', hash, failure: 'x509: ECDSA verification failure' })

const signatureAlgorithms: Record<string, SignatureAlgorithm> = {
  '1.2.840.113549.1.1.5': rsa('sha1'),
  '1.2.840.113549.1.1.11': rsa('sha256'),
  '1.2.840.113549.1.1.12': rsa('sha384'),
  '1.2.840.113549.1.1.13': rsa('sha512'),
  '1.2.840.113549.1.1.10': { ...rsa('sha256'), isPss: true },
  '1.2.840.10045.4.1': ecdsa('sha1'),
  '1.2.840.10045.4.3.2': ecdsa('sha256'),
  '1.2.840.10045.4.3.3': ecdsa('sha384'),
  '1.2.840.10045.4.3.4': ecdsa('sha512'),
  '1.3.101.112': { key: 'ed25519', family: 'Ed25519', hash: null, failure: 'x509: Ed25519 verification failure' },
}

const goKeyTypes: Record<string, string> = { rsa: '*rsa.PublicKey', ec: '*ecdsa.PublicKey', ed25519: 'ed25519.PublicKey' }

function topLevelSequence(der: Uint8Array): DerReader {
  if (der.length === 0) throw syntaxError('sequence truncated')
  const found = der[0] ?? 0
  if (found !== tags.sequence) {
    const length = new DerReader(der)
    const value = length.read()
    const isCompound = (found & 0x20) !== 0
    throw structureError(
      `tags don't match (16 vs {class:${found >> 6} tag:${found & 0x1f} length:${value.content.length} isCompound:${isCompound}}) ` +
        '{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} ' +
        `certificateRequest @${value.bytes.length - value.content.length}`,
    )
  }
  const reader = new DerReader(der)
  const sequence = reader.read()
  if (!reader.atEnd) throw syntaxError('trailing data')
  return new DerReader(sequence.content)
}

/** What the reader holds against the bytes, in Go's two categories. */
function structured<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof DerError) || error.message.startsWith('asn1: ') || error.message.startsWith('x509: ')) throw error
    throw error.message.startsWith('expected tag') ? structureError(error.message) : syntaxError(error.message)
  }
}

function readPublicKey(spki: Uint8Array): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  } catch {
    throw new DerError('x509: unsupported public key')
  }
}

export function readDistinguishedName(name: DerValue): DistinguishedName {
  const attributes = childrenOf(name).flatMap((set) => childrenOf(set).map(readNameAttribute))
  const all = (type: string) => attributes.filter((each) => each.type === type).map((each) => each.value)
  return {
    // The last one counts, as in Go.
    commonName: all(oids.commonName).at(-1) ?? '',
    organization: all(oids.organization),
    organizationalUnit: all(oids.organizationalUnit),
    attributes,
  }
}

function readNameAttribute(attribute: DerValue): { type: string; value: string } {
  const [type, value] = childrenOf(attribute)
  if (type === undefined || value === undefined) throw new DerError('data truncated')
  return { type: readObjectIdentifier(type), value: readString(value) }
}

function requestedExtensions(attributes: DerValue): X509Extension[] {
  const extensions: X509Extension[] = []
  for (const attribute of childrenOf(attributes)) {
    const reader = new DerReader(attribute.content)
    if (readObjectIdentifier(reader.read(tags.objectIdentifier)) !== oids.extensionRequest) continue
    for (const list of childrenOf(reader.read(tags.set))) append(extensions, childrenOf(list).map(readExtension))
  }
  return extensions
}

export function readExtension(extension: DerValue): X509Extension {
  const reader = new DerReader(extension.content)
  const id = readObjectIdentifier(reader.read(tags.objectIdentifier))
  const critical = reader.readOptional(tags.boolean)
  return { id, critical: critical !== undefined && readBoolean(critical), value: reader.read(tags.octetString).content }
}

function alternativeNames(extensions: readonly X509Extension[]): AlternativeNames {
  const names: AlternativeNames = { dnsNames: [], emailAddresses: [], ipAddresses: [], uris: [] }
  const extension = extensions.find((each) => each.id === oids.subjectAltName)
  if (extension === undefined) return names
  for (const { tag, content } of childrenOf(readDer(extension.value, tags.sequence))) {
    const text = () => Buffer.from(content).toString('latin1')
    if (tag === implicitTag(1)) names.emailAddresses.push(text())
    else if (tag === implicitTag(2)) names.dnsNames.push(text())
    else if (tag === implicitTag(6)) names.uris.push(text())
    else if (tag === implicitTag(7)) names.ipAddresses.push(ipAddress(content))
  }
  return names
}

function ipAddress(content: Uint8Array): Uint8Array {
  if (content.length !== 4 && content.length !== 16) {
    throw new DerError(`x509: cannot parse IP address of length ${content.length}`)
  }
  return content
}
