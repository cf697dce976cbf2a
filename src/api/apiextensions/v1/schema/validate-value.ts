/** Judges a value by a schema, in the words of upstream's OpenAPI validation. */
import { isDeepStrictEqual } from 'node:util'
import { type Fault, invalidFault, unplacedFault } from '#api/apiextensions/v1/schema/fault.ts'
import { isKnownFormat, stringFormat } from '#api/apiextensions/v1/schema/formats.ts'
import { goPattern } from '#api/apiextensions/v1/schema/go-pattern.ts'
import { numberFaults } from '#api/apiextensions/v1/schema/number-faults.ts'
import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { type Check, quoted } from '#api/meta/check.ts'

type Schema = V1JSONSchemaProps

/** `matches` tells which of several alternatives came closest. */
type Verdict = { faults: Fault[]; matches: number }

/** Reports what is wrong with the value; `check` stands at it. */
export function validateValue(value: unknown, schema: Schema, check: Check): void {
  for (const { field, report } of judge(value, schema, '').faults) report(field === '' ? check : check.at(field.replace(/^\./, '')))
}

function judge(value: unknown, schema: Schema, path: string): Verdict {
  const verdict: Verdict = { faults: [], matches: 0 }
  const add = (...found: (readonly Fault[])[]) => {
    for (const fault of found.flat()) if (!verdict.faults.some((each) => each.message === fault.message)) verdict.faults.push(fault)
    verdict.matches++
  }
  add(typeFaults(value, schema, path))
  if (value !== null) {
    const junctors = judgeJunctors(value, schema, path)
    add(junctors.faults)
    verdict.matches += junctors.matches
    if (typeof value === 'string') add(stringFaults(value, schema, path), formatFaults(value, schema, path))
    else if (typeof value === 'number') add(numberFaults(value, schema, path))
    else if (Array.isArray(value)) add(listFaults(value, schema, path))
  }
  add(enumFaults(value, schema, path))
  if (isFields(value)) add(objectFaults(value, schema, path))
  return verdict
}

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

function typesOf(schema: Schema): string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string']
  return schema.type ? [schema.type] : []
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

function typeFaults(value: unknown, schema: Schema, path: string): Fault[] {
  const types = typesOf(schema)
  const type = typeOf(value)
  const wrongType = (expected: string): Fault[] => {
    const message = `${path} in body must be of type ${expected}: ${quoted(type)}`
    return [{ field: path, message, report: (check) => check.typeInvalid(type, message) }]
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
  const length = [...text].length
  if (maxLength != null && length > maxLength) {
    const message = `${path} in body should be at most ${maxLength} chars long`
    return [{ field: path, message, report: (check) => check.tooLong(maxLength) }]
  }
  if (minLength != null && length < minLength) {
    return [invalidFault(path, text, `${path} in body should be at least ${minLength} chars long`)]
  }
  if (pattern && !goPattern(pattern).matcher(text).find()) {
    return [invalidFault(path, text, `${path} in body should match '${pattern}'`)]
  }
  return []
}

function formatFaults(text: string, { format, type }: Schema, path: string): Fault[] {
  if (!format || (type && type !== 'string')) return []
  const accepts = stringFormat(format)
  if (accepts === undefined || accepts(text)) return []
  const message = `${path} in body must be of type ${format}: ${quoted(text)}`
  return [{ field: path, message, report: (check) => check.typeInvalid(text, message) }]
}

function listFaults(list: readonly unknown[], schema: Schema, path: string): Fault[] {
  const { minItems, maxItems, uniqueItems } = schema
  const items = itemSchema(schema)
  const faults = items === undefined ? [] : list.flatMap((item, index) => judge(item, items, `${path}[${index}]`).faults)
  if (minItems != null && list.length < minItems) {
    faults.push(invalidFault(path, list.length, `${path} in body should have at least ${minItems} items`))
  }
  if (maxItems != null && list.length > maxItems) {
    const message = `${path} in body should have at most ${maxItems} items`
    faults.push({ field: path, message, report: (check) => check.tooMany(list.length, maxItems) })
  }
  if (uniqueItems && list.some((item, index) => list.slice(0, index).some((other) => isDeepStrictEqual(item, other)))) {
    faults.push(invalidFault(path, undefined, `${path} in body shouldn't contain duplicates`))
  }
  return faults
}

function enumFaults(value: unknown, schema: Schema, path: string): Fault[] {
  const allowed = schema.enum ?? []
  if (allowed.length === 0 || allowed.some((each) => isDeepStrictEqual(each, value))) return []
  const shown = allowed.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
  const message = `${path} in body should be one of [${shown.join(' ')}]`
  return [{ field: path, message, report: (check) => check.notSupported(value, shown) }]
}

function objectFaults(object: Fields, schema: Schema, path: string): Fault[] {
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
    if (Object.hasOwn(properties, name)) continue
    if (additionalProperties === false) faults.push(invalidFault(path, name, `${path}.${name} in body is a forbidden property`))
    else if (isSchema(additionalProperties)) faults.push(...judge(object[name], additionalProperties, `${path}.${name}`).faults)
  }
  for (const [name, property] of Object.entries(properties)) {
    if (Object.hasOwn(object, name)) faults.push(...judge(object[name], property, path === '' ? name : `${path}.${name}`).faults)
  }
  for (const name of required ?? []) {
    if (Object.hasOwn(object, name)) continue
    const field = `${path}.${name}`
    faults.push({ field, message: `${field} in body is required`, report: (check) => check.required() })
  }
  return faults
}

function judgeJunctors(value: unknown, schema: Schema, path: string): Verdict {
  const faults: Fault[] = []
  let matches = 0
  const verdicts = (schemas: readonly Schema[] | undefined) => (schemas ?? []).map((each) => judge(value, each, path))
  const closest = (all: readonly Verdict[]) => all.reduce((best, each) => (each.matches > best.matches ? each : best))
  const take = (verdict: Verdict | undefined) => {
    faults.push(...(verdict?.faults ?? []))
    matches += verdict?.matches ?? 0
  }
  const isValid = (verdict: Verdict) => verdict.faults.length === 0

  const any = verdicts(schema.anyOf)
  if (any.length > 0) {
    const first = any.find(isValid)
    if (first === undefined) faults.push(unplacedFault(`${quoted(path)} must validate at least one schema (anyOf)`))
    take(first ?? closest(any))
  }
  const one = verdicts(schema.oneOf)
  if (one.length > 0) {
    const valid = one.filter(isValid)
    if (valid.length === 1) take(valid[0])
    else {
      const found = valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`
      faults.push(unplacedFault(`${quoted(path)} must validate one and only one schema (oneOf). ${found}`))
      if (valid.length === 0) take(closest(one))
    }
  }
  const all = verdicts(schema.allOf)
  for (const verdict of all) take(verdict)
  if (!all.every(isValid)) {
    faults.push(unplacedFault(`${quoted(path)} must validate all the schemas (allOf)${all.some(isValid) ? '' : '. None validated'}`))
  }
  if (schema.not != null && isValid(judge(value, schema.not, path))) {
    faults.push(unplacedFault(`${quoted(path)} must not validate the schema (not)`))
  }
  return { faults, matches }
}
