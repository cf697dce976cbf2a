import { isObject } from '#api/meta/patch/json-value.ts'
import type { V1ManagedFieldsEntry } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'

/** Webhooks that rewrite whole objects sometimes break what is recorded of their owners: the records are put back then. */
export function keepReadable(object: KubernetesObject, before: V1ManagedFieldsEntry[] | undefined, warn: (text: string) => void): void {
  const { metadata } = object
  if (metadata === undefined || metadata.managedFields === before) return
  const fault = faultOf(metadata.managedFields ?? [])
  if (fault === undefined) return
  if (before === undefined) delete metadata.managedFields
  else metadata.managedFields = before
  const cause = 'this could be caused by an outdated mutating admission controller; please fix your requests'
  warn(`.metadata.managedFields was in an invalid state after admission; ${cause}: ${fault}`)
}

function faultOf(entries: readonly V1ManagedFieldsEntry[]): string | undefined {
  for (const { operation, apiVersion, fieldsType, fieldsV1 } of entries) {
    if (operation !== 'Apply' && operation !== 'Update') return `invalid operation \`${operation ?? ''}\``
    if (!apiVersion) return 'apiVersion must not be empty'
    if (fieldsType !== 'FieldsV1') return `unsupported fields type \`${fieldsType ?? ''}\``
    if (fieldsV1 === undefined || !isObject(fieldsV1 as never)) return 'fieldsV1 must not be empty'
  }
  return undefined
}
