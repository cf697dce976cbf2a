import {
  childrenOf,
  DerReader,
  type DerValue,
  directoryString,
  objectIdentifier,
  readDer,
  readObjectIdentifier,
  readString,
  sequence,
  setOf,
  tags,
} from '#wire/der.ts'

export const attributeTypes = {
  commonName: '2.5.4.3',
  country: '2.5.4.6',
  organization: '2.5.4.10',
  organizationalUnit: '2.5.4.11',
  /** 1.3.6.1.4.1.57683.2: Kubernetes' own attribute for a user's uid. */
  kubernetesUid: '1.3.6.1.4.1.57683.2',
} as const

/** A certificate's subject or issuer as far as Kubernetes gives it a meaning. */
export type DistinguishedName = {
  commonName?: string
  organizations?: readonly string[]
  organizationalUnits?: readonly string[]
  uid?: string
}

export type NameAttribute = { type: string; value: string }

/** Several organizations share one set, as Go writes them. */
export function encodeName(name: DistinguishedName): Uint8Array {
  const sets: Uint8Array[] = []
  const add = (type: string, values: readonly string[]) => {
    if (values.length > 0) sets.push(setOf(...values.map((value) => sequence(objectIdentifier(type), directoryString(value)))))
  }
  add(attributeTypes.organization, name.organizations ?? [])
  add(attributeTypes.organizationalUnit, name.organizationalUnits ?? [])
  if (name.commonName !== undefined) add(attributeTypes.commonName, [name.commonName])
  if (name.uid !== undefined) add(attributeTypes.kubernetesUid, [name.uid])
  return sequence(...sets)
}

/** Every attribute in the order of the encoding. */
export function readNameAttributes(name: DerValue): NameAttribute[] {
  const attributes: NameAttribute[] = []
  for (const set of childrenOf(name)) {
    for (const attribute of childrenOf(set)) {
      const reader = new DerReader(attribute.content)
      const type = readObjectIdentifier(reader.read(tags.objectIdentifier))
      attributes.push({ type, value: readString(reader.read()) })
    }
  }
  return attributes
}

export function readName(der: Uint8Array): DistinguishedName {
  return nameOf(readNameAttributes(readDer(der, tags.sequence)))
}

/** Of a repeated common name the last counts, as in Go. */
export function nameOf(attributes: readonly NameAttribute[]): DistinguishedName {
  const values = (type: string) => attributes.filter((attribute) => attribute.type === type).map((attribute) => attribute.value)
  const commonName = values(attributeTypes.commonName).at(-1)
  const uid = values(attributeTypes.kubernetesUid).at(-1)
  return {
    ...(commonName === undefined ? {} : { commonName }),
    organizations: values(attributeTypes.organization),
    organizationalUnits: values(attributeTypes.organizationalUnit),
    ...(uid === undefined ? {} : { uid }),
  }
}
