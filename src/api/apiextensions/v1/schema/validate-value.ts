/** Validates a value by a schema, in the words of upstream's OpenAPI validation. */

import { type Fault, invalidFault, unplacedFault } from '#api/apiextensions/v1/schema/fault.ts'
import { isKnownFormat, stringFormat } from '#api/apiextensions/v1/schema/formats.ts'
import { numberFaults } from '#api/apiextensions/v1/schema/number-faults.ts'
import { isPlainlyValid } from '#api/apiextensions/v1/schema/plainly-valid.ts'
import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { codePointCount } from '#api/cel/values/size.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { goMatches } from '#api/meta/go-pattern.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { sortedJson } from '#api/structural/sorted-json.ts'
import { append } from '#base/append.ts'

type Schema = V1JSONSchemaProps

/** `matches` tells which of several alternatives came closest. */
type Result = { faults: Fault[]; matches: number }

const faultless: { readonly faults: readonly Fault[] } = { faults: [] }

/** Stands for the value before, where nobody can tell which it was. */
const uncorrelated = Symbol('uncorrelated')

/**
 * Reports what is wrong with the value; `check` stands at it. With `old`, which the value replaces, what was there before and
 * did not change may stay wrong.
 */
export function validateValue(check: Check<unknown>, schema: Schema, given?: { readonly old: unknown }): void {
  const { faults } = validatePart(check.value, schema, '', given === undefined ? uncorrelated : given.old)
  for (const { field, report } of faults) {
    report(field === '' ? check : check.dynamic(field.replace(/^\./, '')))
    if (check.isFull) return
  }
}

/** A value that has a place of its own, and may have been there before. */
function validatePart(value: unknown, schema: Schema, path: string, old: unknown): typeof faultless {
  if (isPlainlyValid(value, schema)) return faultless
  const result = validate(value, schema, path, old)
  if (result.faults.length === 0 || old === uncorrelated || !equalJson(value, old)) return result
  return faultless
}

function validate(value: unknown, schema: Schema, path: string, old: unknown): Result {
  const result: Result = { faults: [], matches: 0 }
  const said = new Set<string>()
  const add = (...found: (readonly Fault[])[]) => {
    for (const faults of found) {
      for (const fault of faults) {
        if (said.has(fault.message)) continue
        said.add(fault.message)
        result.faults.push(fault)
      }
    }
    result.matches++
  }
  add(typeFaults(value, schema, path))
  if (value !== null) {
    const junctors = validateJunctors(value, schema, path, old)
    add(junctors.faults)
    result.matches += junctors.matches
    if (typeof value === 'string') add(stringFaults(value, schema, path), formatFaults(value, schema, path))
    else if (typeof value === 'number' || typeof value === 'bigint') add(numberFaults(value, schema, path))
    else if (Array.isArray(value)) add(listFaults(value, schema, path, old))
  }
  add(enumFaults(value, schema, path))
  if (isFields(value)) add(objectFaults(value, schema, path, old))
  return result
}

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

function typesOf(schema: Schema): string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string']
  return schema.type ? [schema.type] : []
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'bigint') return 'integer'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

function typeFaults(value: unknown, schema: Schema, path: string): Fault[] {
  const types = typesOf(schema)
  const type = typeOf(value)
  const wrongType = (expected: string): Fault[] => {
    const message = `${path} in body must be of type ${expected}: ${quoted(type)}`
    return [{ field: path, message, report: (check) => check.typeInvalid(message, type) }]
  }
  if (types.length === 0) return []
  if (value === null) return schema.nullable ? [] : wrongType(types.join(','))
  const format = isKnownFormat(schema.format ?? '', schema.type) ? (schema.format ?? '') : ''
  const isNumeric = types.includes('number') || types.includes('integer')
  // Upstream leaves texts and lists that have a format to the format.
  if (format !== '' && !isNumeric && (type === 'string' || type === 'array')) return []
  if (types.includes(type) || (type === 'integer' && types.includes('number'))) return []
  return wrongType(types.join(','))
}

function stringFaults(text: string, { maxLength, minLength, pattern }: Schema, path: string): Fault[] {
  const length = codePointCount(text)
  if (maxLength != null && length > maxLength) {
    const message = `${path} in body should be at most ${maxLength} chars long`
    return [{ field: path, message, report: (check) => check.tooLong(maxLength) }]
  }
  if (minLength != null && length < minLength) {
    return [invalidFault(path, text, `${path} in body should be at least ${minLength} chars long`)]
  }
  if (pattern && !goMatches(pattern, text)) {
    return [invalidFault(path, text, `${path} in body should match '${pattern}'`)]
  }
  return []
}

function formatFaults(text: string, { format, type }: Schema, path: string): Fault[] {
  if (!format || (type && type !== 'string')) return []
  const accepts = stringFormat(format)
  if (accepts === undefined || accepts(text)) return []
  const message = `${path} in body must be of type ${format}: ${quoted(text)}`
  return [{ field: path, message, report: (check) => check.typeInvalid(message, text) }]
}

function listFaults(list: readonly unknown[], schema: Schema, path: string, old: unknown): Fault[] {
  const { minItems, maxItems, uniqueItems } = schema
  const items = itemSchema(schema)
  const before = oldItems(schema, old)
  const faults: Fault[] = []
  for (let index = 0; items !== undefined && index < list.length && faults.length < maxFaults; index++) {
    append(faults, validatePart(list[index], items, `${path}[${index}]`, before(list[index])).faults)
  }
  if (minItems != null && list.length < minItems) {
    faults.push(invalidFault(path, list.length, `${path} in body should have at least ${minItems} items`))
  }
  if (maxItems != null && list.length > maxItems) {
    const message = `${path} in body should have at most ${maxItems} items`
    faults.push({ field: path, message, report: (check) => check.tooMany(list.length, maxItems) })
  }
  if (uniqueItems && new Set(list.map(sortedJson)).size < list.length) {
    faults.push(invalidFault(path, undefined, `${path} in body shouldn't contain duplicates`))
  }
  return faults
}

function enumFaults(value: unknown, schema: Schema, path: string): Fault[] {
  const allowed = schema.enum ?? []
  if (allowed.length === 0 || enumKeys(allowed).has(sortedJson(value))) return []
  const shown = (values: readonly unknown[]) => values.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
  // The values are many at times. The report shows them all; the message only tells it from others.
  const message = `${path} in body should be one of [${shown(allowed.slice(0, 20)).join(' ')}] (${allowed.length})`
  return [{ field: path, message, report: (check) => check.notSupported(shown(allowed), value) }]
}

/** The texts of the values, by which they are found in one step however many there are. */
const enums = new WeakMap<readonly unknown[], ReadonlySet<string>>()

function enumKeys(allowed: readonly unknown[]): ReadonlySet<string> {
  const known = enums.get(allowed) ?? new Set(allowed.map(sortedJson))
  enums.set(allowed, known)
  return known
}

/** Only in a list that is a map can it be told which item was which. */
function oldItems(schema: Schema, old: unknown): (item: unknown) => unknown {
  const keys = schema['x-kubernetes-list-type'] === 'map' ? (schema['x-kubernetes-list-map-keys'] ?? []) : []
  if (!Array.isArray(old) || keys.length === 0) return () => uncorrelated
  const keyOf = (item: unknown) => (isFields(item) ? sortedJson(keys.map((key) => item[key] ?? null)) : undefined)
  const byKey = new Map(old.map((item) => [keyOf(item), item as unknown]))
  return (item) => {
    const key = keyOf(item)
    return key !== undefined && byKey.has(key) ? byKey.get(key) : uncorrelated
  }
}

/** What every object says of itself cannot have been otherwise before. */
const typeFields: ReadonlySet<string> = new Set(['kind', 'apiVersion'])

function oldField(old: unknown, name: string, path: string): unknown {
  if (!isFields(old) || !Object.hasOwn(old, name) || (path === '' && typeFields.has(name))) return uncorrelated
  return old[name]
}

/** More than anybody reads is not collected. */
const maxFaults = 10_000

const places = new WeakMap<object, ReadonlyMap<string, number>>()

/** So many properties for each name are gone through faster than the names are sorted. */
const worthSorting = 4

/** The names that a schema declares, in its order. Costs as much as there are names, not as there are properties. */
function declared(names: readonly string[], properties: Readonly<Record<string, Schema>>): string[] {
  const found = names.filter((name) => Object.hasOwn(properties, name))
  if (found.length < 2) return found
  let order = places.get(properties)
  if (order === undefined) {
    order = new Map(Object.keys(properties).map((name, index) => [name, index]))
    places.set(properties, order)
  }
  if (order.size < worthSorting * found.length) {
    const isFound = new Set(found)
    return [...order.keys()].filter((name) => isFound.has(name))
  }
  const place = order
  return found.sort((one, other) => (place.get(one) ?? 0) - (place.get(other) ?? 0))
}

function objectFaults(object: Fields, schema: Schema, path: string, old: unknown): Fault[] {
  const { minProperties, maxProperties, properties = {}, additionalProperties, required } = schema
  const names = Object.keys(object)
  const faults: Fault[] = []
  if (minProperties != null && names.length < minProperties) {
    faults.push(invalidFault(path, names.length, `${path} in body should have at least ${minProperties} properties`))
  }
  if (maxProperties != null && names.length > maxProperties) {
    const message = `${path} in body should have at most ${maxProperties} properties`
    faults.push({ field: path, message, report: (check) => check.tooMany(names.length, maxProperties) })
  }
  for (const name of names) {
    if (faults.length >= maxFaults) break
    if (Object.hasOwn(properties, name)) continue
    if (additionalProperties === false) faults.push(invalidFault(path, name, `${path}.${name} in body is a forbidden property`))
    else if (isSchema(additionalProperties))
      append(faults, validatePart(object[name], additionalProperties, `${path}.${name}`, oldField(old, name, path)).faults)
  }
  for (const name of declared(names, properties)) {
    const property = properties[name]
    if (property === undefined || faults.length >= maxFaults) continue
    append(faults, validatePart(object[name], property, path === '' ? name : `${path}.${name}`, oldField(old, name, path)).faults)
  }
  for (const name of required ?? []) {
    if (Object.hasOwn(object, name)) continue
    const field = `${path}.${name}`
    faults.push({ field, message: `${field} in body is required`, report: (check) => check.required() })
  }
  return faults
}

function validateJunctors(value: unknown, schema: Schema, path: string, old: unknown): Result {
  const faults: Fault[] = []
  let matches = 0
  const resultsOf = (schemas: readonly Schema[] | undefined) => (schemas ?? []).map((each) => validate(value, each, path, old))
  const closest = (all: readonly Result[]) => all.reduce((best, each) => (each.matches > best.matches ? each : best))
  const take = (result: Result | undefined) => {
    append(faults, result?.faults ?? [])
    matches += result?.matches ?? 0
  }
  const isValid = (result: Result) => result.faults.length === 0

  const any = resultsOf(schema.anyOf)
  if (any.length > 0) {
    const first = any.find(isValid)
    if (first === undefined) faults.push(unplacedFault(`${quoted(path)} must validate at least one schema (anyOf)`))
    take(first ?? closest(any))
  }
  const one = resultsOf(schema.oneOf)
  if (one.length > 0) {
    const valid = one.filter(isValid)
    if (valid.length === 1) take(valid[0])
    else {
      const found = valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`
      faults.push(unplacedFault(`${quoted(path)} must validate one and only one schema (oneOf). ${found}`))
      if (valid.length === 0) take(closest(one))
    }
  }
  const all = resultsOf(schema.allOf)
  for (const result of all) take(result)
  if (!all.every(isValid)) {
    faults.push(unplacedFault(`${quoted(path)} must validate all the schemas (allOf)${all.some(isValid) ? '' : '. None validated'}`))
  }
  if (schema.not != null && isValid(validate(value, schema.not, path, old))) {
    faults.push(unplacedFault(`${quoted(path)} must not validate the schema (not)`))
  }
  return { faults, matches }
}
