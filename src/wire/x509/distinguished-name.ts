import { directoryString, objectIdentifier, sequence, sequenceOf, setOf } from '#wire/der.ts'

export const attributeTypes = {
  commonName: '2.5.4.3',
  serialNumber: '2.5.4.5',
  country: '2.5.4.6',
  locality: '2.5.4.7',
  province: '2.5.4.8',
  streetAddress: '2.5.4.9',
  organization: '2.5.4.10',
  organizationalUnit: '2.5.4.11',
  postalCode: '2.5.4.17',
  /** Kubernetes' own attribute for a user's uid. */
  kubernetesUid: '1.3.6.1.4.1.57683.2',
} as const

/** A subject to write into a certificate: the attributes that Go knows by name, and the uid of Kubernetes. */
export type SubjectName = {
  commonName?: string
  serialNumber?: string
  countries?: readonly string[]
  localities?: readonly string[]
  provinces?: readonly string[]
  streetAddresses?: readonly string[]
  postalCodes?: readonly string[]
  organizations?: readonly string[]
  organizationalUnits?: readonly string[]
  uid?: string
}

/** Several values of an attribute share one set, and the attributes are in this order, as Go writes them. */
export function encodeName(name: SubjectName): Uint8Array {
  const sets: Uint8Array[] = []
  const add = (type: string, values: readonly string[]) => {
    if (values.length > 0) sets.push(setOf(values.map((value) => sequence(objectIdentifier(type), directoryString(value)))))
  }
  add(attributeTypes.country, name.countries ?? [])
  add(attributeTypes.organization, name.organizations ?? [])
  add(attributeTypes.organizationalUnit, name.organizationalUnits ?? [])
  add(attributeTypes.locality, name.localities ?? [])
  add(attributeTypes.province, name.provinces ?? [])
  add(attributeTypes.streetAddress, name.streetAddresses ?? [])
  add(attributeTypes.postalCode, name.postalCodes ?? [])
  if (name.commonName !== undefined) add(attributeTypes.commonName, [name.commonName])
  if (name.serialNumber !== undefined) add(attributeTypes.serialNumber, [name.serialNumber])
  if (name.uid !== undefined) add(attributeTypes.kubernetesUid, [name.uid])
  return sequenceOf(sets)
}
