/** Validates custom resources by the CEL rules of their schema. */

import { followPath } from '#api/apiextensions/v1/schema/field-path.ts'
import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps, V1ValidationRule } from '#api/apiextensions/v1/types.gen.ts'
import { celBudgets } from '#api/cel/cost-budgets.ts'
import type { Program } from '#api/cel/environment.ts'
import { CostExceeded } from '#api/cel/evaluate/frame.ts'
import { type CompiledRule, compileRule } from '#api/cel/schema/compile-rule.ts'
import { schemaType } from '#api/cel/schema/schema-type.ts'
import { schemaValue } from '#api/cel/schema/schema-value.ts'
import { CelError, Optional, type Value } from '#api/cel/values/value.ts'
import { fieldErrorText } from '#api/meta/aggregate.ts'
import { Check, omittedValue } from '#api/meta/check.ts'
import { plainEqual } from '#api/meta/equality.ts'

type Schema = V1JSONSchemaProps
type Fields = Readonly<Record<string, unknown>>
type Rule = { readonly written: V1ValidationRule; readonly compiled: CompiledRule }

const maxMessageBytes = 5 * 1024

/** No further rule is looked at. */
class BudgetSpent extends Error {}

/** Without `warn` what did not change must be right all the same. */
export type RuleContext = { readonly check: Check<unknown>; readonly warn?: ((text: string) => void) | undefined }

const noProperties: ReadonlyMap<string, RuleValidator> = new Map()

/** Most of a schema are leaves without any. */
function mayHaveRules(schema: Schema): boolean {
  return (
    schema['x-kubernetes-validations'] !== undefined ||
    schema.properties !== undefined ||
    schema.additionalProperties !== undefined ||
    schema.items !== undefined
  )
}

/** Made once for a version of a definition; undefined when its schema has no rules. */
export class RuleValidator {
  readonly #rules: readonly Rule[]
  readonly #schema: Schema
  readonly #isResource: boolean
  readonly #properties: ReadonlyMap<string, RuleValidator>
  readonly #values: RuleValidator | undefined
  readonly #items: RuleValidator | undefined

  static of(schema: Schema, isResource = true): RuleValidator | undefined {
    if (!mayHaveRules(schema)) return undefined
    const validator = new RuleValidator(schema, isResource)
    const isNeeded = validator.#rules.length > 0 || validator.#properties.size > 0 || validator.#values || validator.#items
    return isNeeded ? validator : undefined
  }

  private constructor(schema: Schema, isResource: boolean) {
    const inside = (each: Schema) => RuleValidator.of(each, each['x-kubernetes-embedded-resource'] === true)
    const written = schema['x-kubernetes-validations'] ?? []
    const type = written.length === 0 ? undefined : schemaType(schema, isResource)
    const items = itemSchema(schema)
    this.#schema = schema
    this.#isResource = isResource
    this.#rules = type === undefined ? [] : written.map((rule) => ({ written: rule, compiled: compileRule(rule, type) }))
    let properties: Map<string, RuleValidator> | undefined
    for (const name in schema.properties) {
      const validator = inside(schema.properties[name] as Schema)
      if (validator === undefined) continue
      properties ??= new Map()
      properties.set(name, validator)
    }
    this.#properties = properties ?? noProperties
    this.#values = isSchema(schema.additionalProperties) ? inside(schema.additionalProperties) : undefined
    this.#items = items && inside(items)
  }

  /** `old` is what the value replaces. What was wrong before and did not change only earns a warning. */
  validate(value: unknown, old: unknown, context: RuleContext): void {
    try {
      this.#validate(value, old, context, new Budget())
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error
    }
  }

  #validate(value: unknown, old: unknown, context: RuleContext, budget: Budget): void {
    if (value === null || value === undefined) return
    if (this.#rules.length > 0) this.#checkRules(value, old ?? undefined, context, budget)
    if (Array.isArray(value)) this.#validateItems(value, Array.isArray(old) ? old : [], context, budget)
    else if (typeof value === 'object') this.#validateFields(value as Fields, isFields(old) ? old : {}, context, budget)
  }

  #validateFields(value: Fields, old: Fields, { check, warn }: RuleContext, budget: Budget): void {
    for (const [name, validator] of this.#properties)
      validator.#validate(value[name], old[name], { check: check.dynamic(name), warn }, budget)
    if (this.#values === undefined) return
    for (const [name, each] of Object.entries(value)) this.#values.#validate(each, old[name], { check: check.key(name), warn }, budget)
  }

  /** Only in a list that is a map can it be told which element was which. */
  #validateItems(value: readonly unknown[], old: readonly unknown[], { check, warn }: RuleContext, budget: Budget): void {
    if (this.#items === undefined) return
    const keys = this.#schema['x-kubernetes-list-type'] === 'map' ? this.#schema['x-kubernetes-list-map-keys'] : undefined
    const keyOf = (element: Fields) => JSON.stringify(keys?.map((key) => element[key]))
    // Of old elements with one key the first counts.
    const oldByKey = new Map(
      keys &&
        old
          .filter(isFields)
          .toReversed()
          .map((each) => [keyOf(each), each]),
    )
    for (const [index, element] of value.entries()) {
      const before = keys && isFields(element) ? oldByKey.get(keyOf(element)) : undefined
      this.#items.#validate(element, before, { check: check.with(value).at(index), warn }, budget)
    }
  }

  #checkRules(value: unknown, old: unknown, context: RuleContext, budget: Budget): void {
    const { check } = context
    const self = schemaValue(value, this.#schema, this.#isResource)
    const oldSelf = old === undefined ? undefined : schemaValue(old, this.#schema, this.#isResource)
    for (const { written, compiled } of this.#rules) {
      if (compiled.error !== undefined) check.invalid(`rule compile error: ${compiled.error}`, this.#schema.type ?? '')
      if (compiled.program === undefined || (compiled.usesOldSelf && oldSelf === undefined && !written.optionalOldSelf)) continue
      const variables = { self, oldSelf: written.optionalOldSelf ? new Optional(oldSelf) : oldSelf }
      const holds = this.#holds(compiled.program, written, variables, check, budget)
      if (holds) continue
      const message = this.#message(compiled.message, variables, budget) ?? written.message?.trim() ?? ''
      const isRatcheted = context.warn !== undefined && !compiled.usesOldSelf && old !== undefined && plainEqual(value, old)
      this.#report(written, message || `failed rule: ${shownRule(written)}`, value, context, isRatcheted)
    }
  }

  /** What fails is reported here, and then holds as far as the rule goes. */
  #holds(program: Program, rule: V1ValidationRule, variables: Variables, check: Check<unknown>, budget: Budget): boolean {
    const type = this.#schema.type ?? ''
    try {
      return budget.run(program, variables) === true
    } catch (error) {
      const message = (error as Error).message
      if (error instanceof BudgetSpent) {
        check.invalid('validation failed due to running out of cost budget, no further validation rules will be run', type)
        throw error
      }
      if (error instanceof CostExceeded) {
        const why = 'no further validation rules will be run due to call cost exceeds limit for rule'
        check.invalid(`'${message}': ${why}: ${shownRule(rule)}`, type)
        throw new BudgetSpent()
      }
      if (!(error instanceof CelError)) throw error
      const why = 'call arguments did not match a supported operator, function or macro signature for rule'
      if (message.startsWith('no such overload')) check.invalid(`'${message}': ${why}: ${shownRule(rule)}`, type)
      else check.invalid(`${message} evaluating rule: ${shownRule(rule)}`, type)
      return true
    }
  }

  #message(program: Program | undefined, variables: Variables, budget: Budget): string | undefined {
    if (program === undefined) return undefined
    try {
      const text = budget.run(program, variables)
      const trimmed = typeof text === 'string' ? text.trim() : ''
      const isUsable = trimmed !== '' && Buffer.byteLength(trimmed) <= maxMessageBytes && !trimmed.includes('\n')
      return isUsable ? trimmed : undefined
    } catch (error) {
      if (error instanceof CelError || error instanceof CostExceeded) return undefined
      throw error
    }
  }

  #report(
    { reason, fieldPath }: V1ValidationRule,
    message: string,
    value: unknown,
    { check, warn }: RuleContext,
    isRatcheted: boolean,
  ): void {
    const isWhole = this.#schema.type === 'object' || this.#schema.type === 'array'
    const shown = isWhole ? omittedValue : value
    // A warning is worded like the error it stands for.
    const aside = isRatcheted ? new Check(undefined, check.path) : check
    const place = fieldPath ? placeOf(fieldPath, this.#schema, aside) : aside
    if (reason === 'FieldValueForbidden') place.forbidden(message)
    else if (reason === 'FieldValueRequired') place.required(message)
    else if (reason === 'FieldValueDuplicate') place.duplicate(shown)
    else place.invalid(message, shown)
    if (isRatcheted) for (const error of aside.errors) warn?.(fieldErrorText(error))
  }
}

type Variables = { readonly self: Value; readonly oldSelf: Value | undefined }

class Budget {
  #left = celBudgets.perRequest

  run(program: Program, { self, oldSelf }: Variables): Value {
    const { value, cost } = program.evaluate((name) => (name === 'self' ? self : name === 'oldSelf' ? oldSelf : undefined))
    this.#left -= cost
    if (this.#left < 0) throw new BudgetSpent()
    return value
  }
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)
const shownRule = ({ message, rule = '' }: V1ValidationRule): string => message?.trim() || rule.trim()

function placeOf(path: string, schema: Schema, check: Check<unknown>): Check<unknown> {
  try {
    const { segments, keys } = followPath(path, schema)
    return segments.reduce((place, segment, index) => (keys[index] ? place.key(segment) : place.dynamic(segment)), check)
  } catch {
    return check
  }
}
