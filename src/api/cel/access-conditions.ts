/** The conditions under which an authorization webhook is asked. */
import { goTypeText } from '#api/cel/admission.ts'
import { Environment, type Program } from '#api/cel/environment.ts'
import { kubernetesLibraries } from '#api/cel/libraries.ts'
import { CelCompileError } from '#api/cel/syntax/source.ts'
import { listOf, mapOf, string, struct } from '#api/cel/types/cel-type.ts'
import { structType } from '#api/cel/types/struct-types.ts'
import { valueOfJson } from '#api/cel/values/json.ts'
import { typeNameOf } from '#api/cel/values/value.ts'

const strings = listOf(string)
const selector = (name: string) => structType(name, { rawSelector: string, requirements: listOf(struct('kubernetes.SelectorRequirement')) })

const environment = new Environment({
  libraries: kubernetesLibraries,
  variables: { request: struct('kubernetes.SubjectAccessReviewSpec') },
  structs: [
    structType('kubernetes.SubjectAccessReviewSpec', {
      resourceAttributes: struct('kubernetes.ResourceAttributes'),
      nonResourceAttributes: struct('kubernetes.NonResourceAttributes'),
      user: string,
      groups: strings,
      extra: mapOf(string, strings),
      uid: string,
    }),
    structType('kubernetes.ResourceAttributes', {
      namespace: string,
      verb: string,
      group: string,
      version: string,
      resource: string,
      subresource: string,
      name: string,
      fieldSelector: struct('kubernetes.FieldSelectorAttributes'),
      labelSelector: struct('kubernetes.LabelSelectorAttributes'),
    }),
    selector('kubernetes.FieldSelectorAttributes'),
    selector('kubernetes.LabelSelectorAttributes'),
    structType('kubernetes.SelectorRequirement', { key: string, operator: string, values: strings }),
    structType('kubernetes.NonResourceAttributes', { path: string, verb: string }),
  ],
})

export type AccessConditionResult = { readonly program: Program } | { readonly detail: string }

export function compileAccessCondition(text: string): AccessConditionResult {
  try {
    const program = environment.compile(text)
    return program.type.kind === 'bool' ? { program } : { detail: `must evaluate to bool but got ${goTypeText(program.type)}` }
  } catch (error) {
    if (error instanceof CelCompileError) return { detail: `compilation failed: ${error.message}` }
    throw error
  }
}

/** One no is enough; without one, what failed is thrown. */
export function accessConditionsHold(conditions: readonly Program[], review: object): boolean {
  const request = valueOfJson(review)
  const failures: string[] = []
  for (const program of conditions) {
    try {
      const { value } = program.evaluate((name) => (name === 'request' ? request : undefined))
      if (value === false) return false
      if (value !== true)
        failures.push(`cel evaluation error: expression '${program.text}' eval result type should be bool but got ${typeNameOf(value)}`)
    } catch (error) {
      failures.push(`cel evaluation error: expression '${program.text}' resulted in error: ${(error as Error).message}`)
    }
  }
  if (failures.length === 0) return true
  throw new Error(failures.length === 1 ? failures[0] : `[${failures.join(', ')}]`)
}
