/** Selectors of a request as authorizers see them: who may list only the pods of one node says so. */

import { parseFieldSelector } from '#api/meta/field-selector.ts'
import { parseLabelSelector } from '#api/meta/selector.ts'
import type { Attributes, FieldRequirement, LabelRequirement } from '#apiserver/authz/authorizer.ts'
import { selectorExcess } from '#apiserver/http/selector-limits.ts'

/** Most authorizers never look at selectors, and whoever asks is not even known to be allowed anything: they are read on demand. */
export function withSelectors(attributes: Attributes, query: URLSearchParams): Attributes {
  const fields = query.get('fieldSelector')
  const labels = query.get('labelSelector')
  if (!fields && !labels) return attributes
  let fieldSelector: Attributes['fieldSelector']
  let labelSelector: Attributes['labelSelector']
  return {
    ...attributes,
    get fieldSelector() {
      if (fields) fieldSelector ??= requirementsOf<FieldRequirement>(fields, () => parseFieldSelector(fields).terms)
      return fieldSelector
    },
    get labelSelector() {
      if (labels) labelSelector ??= requirementsOf<LabelRequirement>(labels, () => parseLabelSelector(labels).requirements)
      return labelSelector
    },
  }
}

/** What cannot be read is left out, which grants nothing; the request is refused for it later. */
function requirementsOf<T>(text: string, parse: () => readonly T[]): readonly T[] {
  try {
    return selectorExcess(text) === undefined ? parse() : []
  } catch {
    return []
  }
}
