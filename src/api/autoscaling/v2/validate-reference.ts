import type { V2CrossVersionObjectReference } from '#api/autoscaling/v2/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { parseApiVersion, unexpectedApiVersion } from '#api/meta/gvk.ts'
import { mustBe, pathSegmentName } from '#api/meta/names.ts'

export type ReferenceOptions = { allowEmptyGroup: boolean; allowInvalidApiVersion: boolean }

export function validateReference(check: Check<Partial<V2CrossVersionObjectReference>>, options: ReferenceOptions): void {
  const reference = check.value
  for (const field of ['kind', 'name'] as const) {
    const value = reference[field]
    if (!value) check.at(field).required()
    else mustBe(pathSegmentName, check.at(field).with(value))
  }
  const problem = apiVersionProblem(reference, options)
  if (problem !== undefined) check.at('apiVersion').or('').invalid(problem)
}

export function apiVersionProblem(
  { apiVersion = '' }: Partial<V2CrossVersionObjectReference>,
  options: ReferenceOptions,
): string | undefined {
  if (options.allowInvalidApiVersion) return undefined
  const parsed = parseApiVersion(apiVersion)
  if (!parsed) return unexpectedApiVersion(apiVersion)
  return parsed.group === '' && !options.allowEmptyGroup ? 'apiVersion must specify API group' : undefined
}
