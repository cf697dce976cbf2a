import { directoryString, objectIdentifier, sequence, sequenceOf, setOf } from '#wire/der.ts'

export const attributeTypes = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  organizationalUnit: '2.5.4.11',
  /** Kubernetes' own attribute for a user's uid. */
  kubernetesUid: '1.3.6.1.4.1.57683.2',
} as const

/** A subject to write into a certificate, as far as Kubernetes gives it a meaning. */
export type SubjectName = {
  commonName?: string
  organizations?: readonly string[]
  organizationalUnits?: readonly string[]
  uid?: string
}

/** Several organizations share one set, as Go writes them. */
export function encodeName(name: SubjectName): Uint8Array {
  const sets: Uint8Array[] = []
  const add = (type: string, values: readonly string[]) => {
    if (values.length > 0) sets.push(setOf(values.map((value) => sequence(objectIdentifier(type), directoryString(value)))))
  }
  add(attributeTypes.organization, name.organizations ?? [])
  add(attributeTypes.organizationalUnit, name.organizationalUnits ?? [])
  if (name.commonName !== undefined) add(attributeTypes.commonName, [name.commonName])
  if (name.uid !== undefined) add(attributeTypes.kubernetesUid, [name.uid])
  return sequenceOf(sets)
}
