/** Which objects of a resource a list, a watch or a deletion of many is about. */

import { type FieldSelector, parseFieldSelector, unknownFieldMessage } from '#api/meta/field-selector.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { type LabelSelector, parseLabelSelector } from '#api/meta/selector.ts'
import { badRequest } from '#api/meta/status-error.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { ListOptions } from '#apiserver/http/query-options.ts'
import { requirementsExcess, selectorExcess } from '#apiserver/http/selector-limits.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import type { Interest } from '#apiserver/watch-cache/watchers.ts'
import { errorMessage } from '#base/error-message.ts'

export type Selection = {
  readonly namespace: string
  /** What can be told of the objects without looking at them one by one. */
  readonly interest: Interest
  /** Matches everything in the namespace. */
  readonly isAll: boolean
  matches(cached: CachedObject): boolean
  /** About how much work `matches` is, in bytes of JSON that would take as long to parse; what was not parsed before has to be. */
  cost(cached: CachedObject): number
  /** Too much work to be done for each of thousands of watches within a commit. */
  readonly isCostly: boolean
}

/** So many others are let in after. Some 0.1 ms, where nothing is parsed. */
export const stepCost = 32 * 1024
const objectCost = 16
const termCost = 8
const cheapTerms = 8

/** Throws 400 for selectors that cannot be read and for fields the kind cannot be selected by. */
export function selectionOf(
  definition: ResourceDefinition,
  namespace: string,
  { labelSelector, fieldSelector }: Pick<ListOptions, 'labelSelector' | 'fieldSelector'>,
): Selection {
  const labels = labelSelector === '' ? undefined : readLabelSelector(labelSelector)
  const fields = fieldSelector === '' ? undefined : readFieldSelector(definition, fieldSelector)
  const isAll = labels === undefined && fields === undefined
  const comparing = objectCost + termCost * ((labels?.requirements.length ?? 0) + (fields?.terms.length ?? 0))
  return {
    namespace,
    interest: { namespace, name: fields?.requiredValue('metadata.name'), field: fields && requiredField(definition, fields) },
    isAll,
    matches(cached) {
      if (namespace !== '' && cached.namespace !== namespace) return false
      if (isAll) return true
      if (labels !== undefined && !labels.matches(cached.labels)) return false
      return fields === undefined || fields.matches((field) => fieldOf(definition, field, cached))
    },
    isCostly: comparing > objectCost + termCost * cheapTerms,
    cost: isAll ? costOfAny : costOf(labels, fields, comparing),
  }
}

const costOfAny: Selection['cost'] = () => objectCost

function costOf(labels: LabelSelector | undefined, fields: FieldSelector | undefined, comparing: number): Selection['cost'] {
  const ownFields = [...new Set(fields?.terms.map(({ field }) => field))].filter((field) => !field.startsWith('metadata.'))
  return (cached) => {
    const hasToParse = (labels !== undefined && !cached.isKnown) || ownFields.some((field) => !cached.hasRead(field))
    return hasToParse ? comparing + cached.value.byteLength : comparing
  }
}

function requiredField(definition: ResourceDefinition, { terms }: FieldSelector): Interest['field'] {
  for (const { field: name, operator, value } of terms) {
    const read = definition.fieldSelectors?.[name]
    if (read !== undefined && operator === '=') return { name, value, read }
  }
  return undefined
}

function readLabelSelector(text: string): LabelSelector {
  refuseIf(selectorExcess(text))
  let selector: LabelSelector
  try {
    selector = parseLabelSelector(text)
  } catch (error) {
    throw badRequest(errorMessage(error))
  }
  refuseIf(requirementsExcess(selector.requirements.length))
  return selector
}

function refuseIf(excess: string | undefined): void {
  if (excess !== undefined) throw badRequest(excess)
}

function readFieldSelector(definition: ResourceDefinition, text: string): FieldSelector {
  refuseIf(selectorExcess(text))
  let selector: FieldSelector
  try {
    selector = parseFieldSelector(text)
  } catch (error) {
    throw badRequest(errorMessage(error))
  }
  refuseIf(requirementsExcess(selector.terms.length))
  for (const { field } of selector.terms) {
    if (!isSelectable(definition, field))
      throw badRequest(
        unknownFieldMessage(field, {
          apiVersion: apiVersionOf(definition),
          kind: definition.kind,
          hasOwnFields: definition.fieldSelectors !== undefined,
        }),
      )
  }
  return selector
}

function isSelectable(definition: ResourceDefinition, field: string): boolean {
  if (field === 'metadata.name') return true
  if (field === 'metadata.namespace') return definition.untyped === undefined || definition.scope === 'Namespaced'
  return definition.fieldSelectors?.[field] !== undefined
}

function fieldOf(definition: ResourceDefinition, field: string, cached: CachedObject): string {
  if (field === 'metadata.name') return cached.name
  if (field === 'metadata.namespace') return cached.namespace
  const read = definition.fieldSelectors?.[field]
  return read === undefined ? '' : cached.field(field, read)
}
