/** Validates the CEL rules of a schema: whether they compile, and what they may cost. */
import type { StoredRules } from '#api/apiextensions/v1/schema/validate-rules.ts'
import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps, V1ValidationRule } from '#api/apiextensions/v1/types.gen.ts'
import { compileRule } from '#api/cel/schema/compile-rule.ts'
import { maxCardinality, type SchemaType, schemaType } from '#api/cel/schema/schema-type.ts'
import { escapedName } from '#api/cel/values/escaped-names.ts'
import type { Check } from '#api/meta/check.ts'
import type { Steps } from '#base/steps.ts'

const ruleCostLimit = 10_000_000
const totalCostLimit = 100_000_000
const mostExpensiveShown = 4

type Schema = V1JSONSchemaProps

/** What is known about a place in the schema. */
type Place = {
  readonly type: SchemaType | undefined
  /** How often a value can stand here; undefined where there is no limit. */
  readonly cardinality: number | undefined
  /** The list around it whose elements cannot be told from those they replace. */
  readonly uncorrelatable: Check<unknown> | undefined
}

/** `check` stands at the root schema. */
export function* checkRules(check: Check<Schema>, { isUnchanged }: StoredRules): Steps<void> {
  const schema = check.value
  const costs = new Costs(isUnchanged)
  yield* validate(check, { type: schemaType(schema, true), cardinality: 1, uncorrelatable: undefined }, costs)
  costs.reportTotal(check)
}

class Costs {
  readonly #allowsExpensive: boolean
  readonly #expensive: { check: Check<unknown>; cost: number }[] = []
  #total = 0

  constructor(allowsExpensive: boolean) {
    this.#allowsExpensive = allowsExpensive
  }

  /** What counts toward the total need not be what is too much by itself. */
  report(check: Check<unknown>, what: string, cost: number): void {
    if (!this.#allowsExpensive && cost > ruleCostLimit) check.forbidden(tooMuch(what, cost, ruleCostLimit))
  }
  add(check: Check<unknown>, cost: number): void {
    this.#total += cost
    if (cost >= totalCostLimit / 100) this.#expensive.push({ check, cost })
  }
  reportTotal(check: Check<unknown>): void {
    if (this.#total <= totalCostLimit) return
    const shown = this.#expensive.toSorted((one, other) => other.cost - one.cost).slice(0, mostExpensiveShown)
    for (const each of shown)
      each.check.forbidden('contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema')
    check.forbidden(tooMuch('x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema', this.#total, totalCostLimit))
  }
}

function tooMuch(what: string, cost: number, limit: number): string {
  const factor = cost / limit
  const shown = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`
  const advice = 'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared'
  return `${what} exceeds budget by factor of ${shown} (${advice})`
}

/** What is inside first, as upstream has it. */
function* validate(check: Check<Schema>, place: Place, costs: Costs): Steps<void> {
  const schema = check.value
  const { type, uncorrelatable } = place
  const inside = { cardinality: cardinalityInside(schema, place.cardinality), uncorrelatable }
  const { additionalProperties } = schema
  if (isSchema(additionalProperties))
    yield* validate(
      check.at('additionalProperties').with(additionalProperties),
      { ...inside, type: known(type?.element, additionalProperties) },
      costs,
    )
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const escaped = escapedName(name)
    const field = escaped === undefined ? undefined : type?.fields?.get(escaped)
    yield* validate(check.at('properties').key(name).with(property), { ...inside, type: known(field, property) }, costs)
  }
  const items = itemSchema(schema)
  if (items !== undefined) {
    const isCorrelatable = schema['x-kubernetes-list-type'] === 'map'
    const around = isCorrelatable ? uncorrelatable : (uncorrelatable ?? check)
    yield* validate(check.at('items').with(items), { ...inside, type: known(type?.element, items), uncorrelatable: around }, costs)
  }
  const rules = schema['x-kubernetes-validations'] ?? []
  if (rules.length === 0) return
  const own = check.at('x-kubernetes-validations')
  if (type === undefined) {
    own.internal(
      'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
    )
    return
  }
  for (const at of own.items()) {
    validateRule(at, { ...place, type }, costs)
    yield
  }
}

const known = (type: SchemaType | undefined, schema: Schema): SchemaType | undefined =>
  type ?? schemaType(schema, schema['x-kubernetes-embedded-resource'] === true)

function cardinalityInside(schema: Schema, cardinality: number | undefined): number | undefined {
  if (cardinality === undefined) return undefined
  const isMap = schema.type === 'object' && schema.additionalProperties !== undefined
  if (schema.type !== 'array' && !isMap) return cardinality
  const max = schema.type === 'array' ? schema.maxItems : schema.maxProperties
  return max === undefined ? undefined : cardinality * Math.max(0, max)
}

function validateRule(
  check: Check<V1ValidationRule>,
  { type, cardinality, uncorrelatable }: Place & { type: SchemaType },
  costs: Costs,
): void {
  const rule = check.value
  const { error, maxCost, messageError, message, messageMaxCost, usesOldSelf } = compileRule(rule, type)
  const cost = maxCost * (cardinality ?? maxCardinality(type))
  costs.report(check.at('rule'), 'estimated rule cost', cost)
  costs.add(check.at('rule'), cost)
  if (error !== undefined) check.at('rule').invalid(error, internal(rule))
  if (messageError !== undefined) check.at('messageExpression').invalid(messageError, internal(rule))
  else if (message !== undefined) {
    costs.report(check.at('messageExpression'), 'estimated messageExpression cost', messageMaxCost)
    costs.add(check.at('messageExpression'), messageMaxCost)
  }
  if (usesOldSelf) {
    if (uncorrelatable !== undefined) {
      const where = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable.path}`
      check.at('rule').invalid(where)
    }
  } else if (rule.optionalOldSelf !== undefined && error === undefined)
    check.at('optionalOldSelf').invalid('may not be set if oldSelf is not used in rule')
}

/** Upstream quotes the whole rule, under the names it has inside. */
const internal = ({ rule = '', message = '', messageExpression = '', reason, fieldPath = '', optionalOldSelf }: V1ValidationRule) => ({
  Rule: rule,
  Message: message,
  MessageExpression: messageExpression,
  Reason: reason ?? null,
  FieldPath: fieldPath,
  OptionalOldSelf: optionalOldSelf ?? null,
})
