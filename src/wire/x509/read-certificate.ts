import { type DistinguishedName, readDistinguishedName, readExtension, type X509Extension } from '#wire/certificate-request.ts'
import {
  childrenOf,
  DerReader,
  explicitTag,
  implicitTag,
  readBoolean,
  readDer,
  readInteger,
  readObjectIdentifier,
  readTime,
  tags,
} from '#wire/der.ts'
import { ipAddressText } from '#wire/x509/ip-address.ts'

/** What a certificate says, without any evaluation on whether to believe it. */
export type CertificateFields = {
  serialNumber: bigint
  /** Object identifier of what it was signed with. */
  signatureAlgorithm: string
  issuer: Uint8Array
  /** As encoded, for signing further certificates under it. */
  encodedSubject: Uint8Array
  subject: DistinguishedName
  notBeforeMs: number
  notAfterMs: number
  isCa: boolean
  /** How many further authorities may follow; undefined when unlimited. */
  maxPathLength: number | undefined
  /** Object identifiers; undefined when the certificate does not limit its use. */
  extendedKeyUsages: string[] | undefined
  dnsNames: string[]
  /** As text: dotted, or eight groups. */
  ipAddresses: string[]
  subjectKeyId: Uint8Array
  authorityKeyId: Uint8Array
  extensionIds: string[]
  /** Extensions that whoever relies on the certificate must understand, and that are not read here. */
  unknownCriticalExtensions: string[]
}

export function readCertificate(der: Uint8Array): CertificateFields {
  const certificate = new DerReader(readDer(der, tags.sequence).content)
  const body = certificate.enter()
  body.readOptional(explicitTag(0))
  const serialNumber = readInteger(body.read(tags.integer))
  const signatureAlgorithm = readObjectIdentifier(body.enter().read(tags.objectIdentifier))
  const issuer = body.read(tags.sequence)
  const validity = body.enter()
  const notBeforeMs = readTime(validity.read())
  const notAfterMs = readTime(validity.read())
  const subject = body.read(tags.sequence)
  body.read(tags.sequence)
  const fields: CertificateFields = {
    serialNumber,
    signatureAlgorithm,
    issuer: issuer.bytes,
    encodedSubject: subject.bytes,
    subject: readDistinguishedName(subject),
    notBeforeMs,
    notAfterMs,
    isCa: false,
    maxPathLength: undefined,
    extendedKeyUsages: undefined,
    dnsNames: [],
    ipAddresses: [],
    subjectKeyId: new Uint8Array(),
    authorityKeyId: new Uint8Array(),
    extensionIds: [],
    unknownCriticalExtensions: [],
  }
  while (!body.atEnd) {
    const part = body.read()
    if (part.tag !== explicitTag(3)) continue
    for (const extension of childrenOf(readDer(part.content, tags.sequence))) apply(readExtension(extension), fields)
  }
  return fields
}

function apply({ id, value, critical }: X509Extension, fields: CertificateFields): void {
  fields.extensionIds.push(id)
  switch (id) {
    case '2.5.29.14':
      fields.subjectKeyId = readDer(value, tags.octetString).content
      break
    case '2.5.29.19': {
      const constraints = new DerReader(value).enter()
      const isCa = constraints.readOptional(tags.boolean)
      fields.isCa = isCa !== undefined && readBoolean(isCa)
      const limit = constraints.readOptional(tags.integer)
      if (limit !== undefined) fields.maxPathLength = Number(readInteger(limit))
      break
    }
    case '2.5.29.35': {
      const keyId = new DerReader(value).enter().readOptional(implicitTag(0))
      if (keyId !== undefined) fields.authorityKeyId = keyId.content
      break
    }
    case '2.5.29.37':
      fields.extendedKeyUsages = childrenOf(readDer(value, tags.sequence)).map(readObjectIdentifier)
      break
    case '2.5.29.15':
      break
    case '2.5.29.17':
      for (const { tag, content } of childrenOf(readDer(value, tags.sequence))) {
        if (tag === implicitTag(2)) fields.dnsNames.push(Buffer.from(content).toString('latin1'))
        if (tag === implicitTag(7)) fields.ipAddresses.push(ipAddressText(content))
      }
      break
    default:
      if (critical) fields.unknownCriticalExtensions.push(id)
  }
}
