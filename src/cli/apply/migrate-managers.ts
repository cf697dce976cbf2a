/** From client-side apply to server-side apply: whose the fields are. */
import type { ApiObject } from '#cli/call.ts'

type Entry = {
  manager?: string
  operation?: string
  apiVersion?: string
  time?: string
  fieldsType?: string
  fieldsV1?: Fields
  subresource?: string
}
type Fields = { [key: string]: Fields }

const former = 'kubectl-client-side-apply'

/** A JSON patch, or undefined where nothing is to be done. */
export function migrateManagedFields(object: ApiObject, manager: string): object[] | undefined {
  const entries = (object.metadata?.managedFields ?? []) as Entry[]
  const old = entries.filter((entry) => entry.manager === former && entry.operation === 'Update' && !entry.subresource)
  const own = entries.find((entry) => entry.manager === manager && entry.operation === 'Apply' && !entry.subresource)
  if (old.length === 0 || own === undefined) return undefined
  let fields = own.fieldsV1 ?? {}
  for (const entry of old) fields = union(fields, entry.fieldsV1 ?? {})
  const annotations = fields['f:metadata']?.['f:annotations']
  if (annotations !== undefined) delete annotations['f:kubectl.kubernetes.io/last-applied-configuration']
  const managedFields = entries
    .filter((entry) => !old.includes(entry))
    .map((entry) => (entry === own ? { ...entry, fieldsV1: fields } : entry))
  return [
    { op: 'replace', path: '/metadata/managedFields', value: managedFields },
    { op: 'replace', path: '/metadata/resourceVersion', value: object.metadata?.resourceVersion },
  ]
}

function union(one: Fields, other: Fields): Fields {
  const result: Fields = structuredClone(one)
  for (const [key, value] of Object.entries(other)) result[key] = union(result[key] ?? {}, value)
  return result
}
