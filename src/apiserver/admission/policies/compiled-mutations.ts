/** A mutating policy made ready to change objects. */

import type { V1MutatingAdmissionPolicySpec } from '#api/admissionregistration/v1/types.gen.ts'
import { type AdmissionInput, Budget } from '#api/cel/admission-input.ts'
import { celBudgets } from '#api/cel/cost-budgets.ts'
import { misplacedPart } from '#api/cel/library/mutations.ts'
import { jsonOfValue } from '#api/cel/values/json.ts'
import { CelList, CelMap, type Value } from '#api/cel/values/value.ts'
import { mergeObjects } from '#api/meta/apply/merge-objects.ts'
import { deducedType, type MergeType, typeOfKey } from '#api/meta/apply/merge-type.ts'
import { mergeTypeOf } from '#api/meta/apply/schema-merge-type.ts'
import { typeErrors } from '#api/meta/apply/type-check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { applyJsonPatch } from '#api/meta/patch/json-patch.ts'
import { isObject, type JsonObject, type JsonValue } from '#api/meta/patch/json-value.ts'
import { PatchError } from '#api/meta/patch/patch-error.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { type CompiledExpression, evaluated, PolicyScope } from '#apiserver/admission/policies/policy-scope.ts'
import { defined } from '#base/defined.ts'
import type { Steps } from '#base/steps.ts'

type Mutation = { readonly isPatch: boolean; readonly expression: CompiledExpression }

export class CompiledMutations {
  readonly #scope: PolicyScope
  readonly #mutations: Mutation[] = []

  private constructor(scope: PolicyScope) {
    this.#scope = scope
  }

  static *compiling(spec: V1MutatingAdmissionPolicySpec): Steps<CompiledMutations> {
    const scope = yield* PolicyScope.compiling(spec)
    const compiled = new CompiledMutations(scope)
    for (const { patchType, jsonPatch, applyConfiguration } of spec.mutations ?? []) {
      const isPatch = patchType === 'JSONPatch'
      const text = (isPatch ? jsonPatch?.expression : applyConfiguration?.expression) ?? ''
      compiled.#mutations.push({ isPatch, expression: scope.compile(text, isPatch ? 'jsonPatch' : 'applyConfiguration') })
      yield
    }
    return compiled
  }

  get count(): number {
    return this.#mutations.length
  }

  /** Throws what cannot be told, and `Pending` where an answer is still under way. */
  applies(input: AdmissionInput): boolean {
    const matched = this.#scope.matches(input)
    if (typeof matched === 'string') throw new Error(matched)
    return matched
  }

  /** The object after one of the mutations. Throws what went wrong, and `Pending`. */
  mutated(index: number, object: object, input: AdmissionInput, definition: ResourceDefinition): JsonObject {
    const { isPatch, expression } = this.#mutations[index] as Mutation
    const budget = new Budget(celBudgets.perRequest)
    const outcome = evaluated(expression, this.#scope.withVariables(input, budget), budget)
    if ('error' in outcome) throw new Error(outcome.error)
    return isPatch ? patched(object, outcome.value) : applied(object, outcome.value, definition)
  }
}

function patched(object: object, value: Value): JsonObject {
  if (!(value instanceof CelList)) throw new Error('type mismatch: JSONPatchType.expression should evaluate to array')
  const operations = [...value].map((each): JsonValue => {
    if (!(each instanceof CelMap)) throw new Error('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch')
    const misplaced = misplacedPart(each.get('value') ?? null, rootOf(each.get('value')))
    if (misplaced !== undefined) throw new Error(`type mismatch: ${misplaced}`)
    return jsonOfValue(each) as JsonValue
  })
  try {
    return applyJsonPatch(deepCopy(object) as JsonObject, operations)
  } catch (error) {
    if (!(error instanceof PatchError)) throw error
    // A test that fails means: not this object.
    if (error.detail.endsWith('test failed')) return deepCopy(object) as JsonObject
    throw new Error(`JSON Patch: ${error.detail}`)
  }
}

/** A part may stand alone in a patch; only what is inside of it has to fit. */
const rootOf = (value: Value | undefined): string => (value instanceof CelMap && value.type?.kind === 'struct' ? value.type.name : 'Object')

function applied(object: object, value: Value, { schema, untyped }: ResourceDefinition): JsonObject {
  const misplaced = misplacedPart(value, 'Object')
  if (misplaced !== undefined) throw new Error(`type mismatch: ${misplaced}`)
  const live = object as JsonObject
  const { apiVersion, kind } = live
  const config = {
    ...(jsonOfValue(value) as JsonObject),
    ...defined({ apiVersion, kind }),
  }
  const type = untyped?.schema.mergeType ?? (schema === '' ? deducedType : mergeTypeOf(schemaOf(schema)))
  const wrong = typeErrors(config, type)
  if (wrong !== undefined) throw new Error(`error applying patch: failed to convert patch object to typed object: ${wrong}`)
  const atomics = atomicParts(config, type, '')
  if (atomics.length > 0)
    throw new Error(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`,
    )
  return mergeObjects(live, config, type)
}

/** What would be replaced as a whole: a policy cannot know what else is in there. */
function atomicParts(value: JsonValue, type: MergeType, path: string): string[] {
  const form = type.formOf(value)
  if (form === undefined || value === null) return []
  const own = form.atomic ? [path] : []
  if (form.kind === 'list') {
    if (!Array.isArray(value)) return []
    return [...own, ...value.flatMap((item, index) => atomicParts(item, form.element, `${path}[${index}]`))]
  }
  if (!isObject(value)) return []
  return [
    ...own,
    ...Object.entries(value).flatMap(([key, inner]) => {
      const field = form.fields.has(key) ? typeOfKey(form, key) : undefined
      return field === undefined ? [] : atomicParts(inner, field, `${path}.${key}`)
    }),
  ]
}
