import type { ExtendedKeyUsage, KeyUsage } from '#wire/x509/certificate.ts'

const keyUsages: Readonly<Record<string, KeyUsage>> = {
  signing: 'digitalSignature',
  'digital signature': 'digitalSignature',
  'content commitment': 'contentCommitment',
  'key encipherment': 'keyEncipherment',
  'key agreement': 'keyAgreement',
  'data encipherment': 'dataEncipherment',
  'cert sign': 'keyCertSign',
  'crl sign': 'cRLSign',
  'encipher only': 'encipherOnly',
  'decipher only': 'decipherOnly',
}

/** In the order in which they are written. */
const extendedKeyUsages: Readonly<Record<string, ExtendedKeyUsage>> = {
  any: 'any',
  'server auth': 'serverAuth',
  'client auth': 'clientAuth',
  'code signing': 'codeSigning',
  'email protection': 'emailProtection',
  's/mime': 'emailProtection',
  'ipsec end system': 'ipsecEndSystem',
  'ipsec tunnel': 'ipsecTunnel',
  'ipsec user': 'ipsecUser',
  timestamping: 'timeStamping',
  'ocsp signing': 'ocspSigning',
  'microsoft sgc': 'microsoftSgc',
  'netscape sgc': 'netscapeSgc',
}

/** What a certificate may be used for, of the words that requests use for it. */
export function keyUsagesOf(usages: readonly string[]): { keyUsages: KeyUsage[]; extendedKeyUsages: ExtendedKeyUsage[] } {
  const unknown = usages.filter((usage) => !Object.hasOwn(keyUsages, usage) && !Object.hasOwn(extendedKeyUsages, usage))
  if (unknown.length > 0) throw new Error(`unrecognized usage values: [${unknown.map((usage) => JSON.stringify(usage)).join(' ')}]`)
  const asked = new Set(usages)
  const named = <T>(table: Readonly<Record<string, T>>) => [
    ...new Set(Object.entries(table).flatMap(([usage, value]) => (asked.has(usage) ? [value] : []))),
  ]
  return { keyUsages: named(keyUsages), extendedKeyUsages: named(extendedKeyUsages) }
}
