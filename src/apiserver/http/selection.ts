/** Which objects of a resource a list, a watch or a deletion of many is about. */

import { type FieldSelector, parseFieldSelector, unknownFieldMessage } from '#api/meta/field-selector.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { type LabelSelector, parseLabelSelector } from '#api/meta/selector.ts'
import { badRequest } from '#api/meta/status-error.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { ListOptions } from '#apiserver/http/query-options.ts'
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
}

/** Throws 400 for selectors that cannot be read and for fields the kind cannot be selected by. */
export function selectionOf(
  definition: ResourceDefinition,
  namespace: string,
  { labelSelector, fieldSelector }: Pick<ListOptions, 'labelSelector' | 'fieldSelector'>,
): Selection {
  const labels = labelSelector === '' ? undefined : readLabelSelector(labelSelector)
  const fields = fieldSelector === '' ? undefined : readFieldSelector(definition, fieldSelector)
  const isAll = labels === undefined && fields === undefined
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
  try {
    return parseLabelSelector(text)
  } catch (error) {
    throw badRequest(errorMessage(error))
  }
}

function readFieldSelector(definition: ResourceDefinition, text: string): FieldSelector {
  let selector: FieldSelector
  try {
    selector = parseFieldSelector(text)
  } catch (error) {
    throw badRequest(errorMessage(error))
  }
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
