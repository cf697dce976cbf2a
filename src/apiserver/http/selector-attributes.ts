/** Selectors of a request as authorizers see them: who may list only the pods of one node says so. */

import { parseFieldSelector } from '#api/meta/field-selector.ts'
import { parseLabelSelector } from '#api/meta/selector.ts'
import type { Attributes, FieldRequirement, LabelRequirement } from '#apiserver/authz/authorizer.ts'
import { defined } from '#base/defined.ts'

/** What cannot be read is left out, which grants nothing; the request is refused for it later. */
export function selectorAttributes(query: URLSearchParams): Pick<Attributes, 'fieldSelector' | 'labelSelector'> {
  const fields = query.get('fieldSelector')
  const labels = query.get('labelSelector')
  return {
    ...defined({
      fieldSelector: fields ? fieldRequirements(fields) : undefined,
      labelSelector: labels ? labelRequirements(labels) : undefined,
    }),
  }
}

function fieldRequirements(text: string): readonly FieldRequirement[] {
  try {
    return parseFieldSelector(text).terms
  } catch {
    return []
  }
}

function labelRequirements(text: string): readonly LabelRequirement[] {
  try {
    return parseLabelSelector(text).requirements
  } catch {
    return []
  }
}
