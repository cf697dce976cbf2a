/** Judges the schema of a custom resource: what of OpenAPI it may use, and how lists, maps and rules may be declared. */
import { followPath } from '#api/apiextensions/v1/schema/field-path.ts'
import { unsupportedField } from '#api/apiextensions/v1/schema/structural.ts'
import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps, V1ValidationRule } from '#api/apiextensions/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'

type Schema = V1JSONSchemaProps

/** What a stored definition already has wrong need not be right in an update of it. */
export type SchemaRules = { validTypes: boolean; atomicSets: boolean; sureListKeys: boolean }

/** What the schemas around this one say about it. */
type Surroundings = {
  rules: SchemaRules
  isRoot: boolean
  /** Why there may be no default here; undefined where there may. */
  noDefaults: string | undefined
  isInsideMeta: boolean
}

export const openApiTypes = ['array', 'boolean', 'integer', 'number', 'object', 'string']

export function validateOpenApiSchema(schema: Schema, check: Check, rules: SchemaRules): void {
  validateSchema(schema, check, { rules, isRoot: true, noDefaults: undefined, isInsideMeta: false })
}

const metaFields = ['metadata', 'kind', 'apiVersion']

function validateSchema(schema: Schema, check: Check, around: Surroundings): void {
  const inside = { ...around, isRoot: false }
  validateSupport(schema, check, around)
  if (schema.uniqueItems) {
    check.at('uniqueItems').forbidden('uniqueItems cannot be set to true since the runtime complexity becomes quadratic')
  }
  validateAdditionalProperties(schema, check, inside)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isMeta = (around.isRoot || schema['x-kubernetes-embedded-resource'] === true) && metaFields.includes(name)
    validateSchema(property, check.at('properties').key(name), {
      ...inside,
      isInsideMeta: inside.isInsideMeta || isMeta,
      noDefaults: isMeta && around.isRoot ? `in top-level ${name}` : inside.noDefaults,
    })
  }
  if (schema.not != null) validateSchema(schema.not, check.at('not'), inside)
  for (const field of ['allOf', 'oneOf', 'anyOf'] as const) {
    each(schema[field], check.at(field), (nested, item) => validateSchema(nested, item, inside))
  }
  for (const [name, definition] of Object.entries(schema.definitions ?? {})) {
    validateSchema(definition, check.at('definitions').key(name), inside)
  }
  const items = itemSchema(schema)
  if (items !== undefined) validateSchema(items, check.at('items'), inside)
  if (Array.isArray(schema.items)) each(schema.items, check.at('items'), (item, place) => validateSchema(item, place, inside))
  for (const [name, dependency] of Object.entries(schema.dependencies ?? {})) {
    if (isSchema(dependency)) validateSchema(dependency, check.at('dependencies').key(name), inside)
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    check.at('x-kubernetes-preserve-unknown-fields').invalid(false, 'must be true or undefined')
  }
  validateMapType(schema, check)
  validateListType(schema, check, around.rules)
  each(schema['x-kubernetes-validations'], check.at('x-kubernetes-validations'), (rule, item) => validateRule(rule, schema, item))
}

/** What of OpenAPI there is no support for. */
function validateSupport(schema: Schema, check: Check, { rules, noDefaults, isInsideMeta }: Surroundings): void {
  const { type } = schema
  const unsupported = (field: string, isUsed: boolean) => {
    if (isUsed) check.at(field).forbidden(`${field} is not supported`)
  }
  if (rules.validTypes && type && !openApiTypes.includes(type)) check.at('type').notSupported(type, openApiTypes)
  if (schema.default != null && noDefaults !== undefined) check.at('default').forbidden(`must not be set ${noDefaults}`)
  unsupported('id', !!schema.id)
  unsupported('additionalItems', schema.additionalItems != null)
  unsupported('patternProperties', Object.keys(schema.patternProperties ?? {}).length > 0)
  unsupported('definitions', Object.keys(schema.definitions ?? {}).length > 0)
  unsupported('dependencies', schema.dependencies != null)
  unsupported('$ref', schema.$ref != null)
  if (type === 'null') check.at('type').forbidden('type cannot be set to null, use nullable as an alternative')
  if (Array.isArray(schema.items) && schema.items.length > 0) {
    check.at('items').forbidden('items must be a schema object and not an array')
  }
  if (isInsideMeta && schema['x-kubernetes-embedded-resource'] === true) {
    check.at('x-kubernetes-embedded-resource').forbidden('must not be used inside of resource meta')
  }
}

function validateAdditionalProperties({ additionalProperties, properties }: Schema, check: Check, inside: Surroundings): void {
  if (additionalProperties == null) return
  const place = check.at('additionalProperties')
  if (Object.keys(properties ?? {}).length > 0 && additionalProperties !== true) {
    place.forbidden('additionalProperties and properties are mutual exclusive')
  }
  if (!isSchema(additionalProperties)) return
  const noDefaults = inside.isInsideMeta ? 'inside additionalProperties applying to object metadata' : inside.noDefaults
  validateSchema(additionalProperties, place, { ...inside, noDefaults })
}

function validateMapType(schema: Schema, check: Check): void {
  const mapType = schema['x-kubernetes-map-type']
  if (mapType == null) return
  validateHasType(schema, 'object', 'x-kubernetes-map-type', check)
  if (mapType !== 'atomic' && mapType !== 'granular') check.at('x-kubernetes-map-type').notSupported(mapType, ['atomic', 'granular'])
}

function validateHasType({ type }: Schema, wanted: string, because: string, check: Check): void {
  const message = `must be ${wanted} if ${because} is specified`
  if (!type) check.at('type').required(message)
  else if (type !== wanted) check.at('type').invalid(type, message)
}

const listTypes = ['atomic', 'set', 'map']

function validateListType(schema: Schema, check: Check, rules: SchemaRules): void {
  const listType = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const place = check.at('x-kubernetes-list-type')
  if (listType != null) {
    if (schema.type !== 'array') validateHasType(schema, 'array', 'x-kubernetes-list-type', check)
    else if (rules.atomicSets) validateSetItems(schema, check.at('items'))
    if (!listTypes.includes(listType)) place.notSupported(listType, listTypes)
  }
  if (keys.length > 0 && listType !== 'map') {
    const message = 'must be map if x-kubernetes-list-map-keys is non-empty'
    if (listType == null) place.required(message)
    else place.invalid(listType, message)
  }
  if (listType === 'map') validateMapList(schema, keys, check)
  if (rules.sureListKeys) validateListKeys(schema, check.at('items'))
}

/** Items of a set are compared as a whole, hence must not be merged field by field. */
function validateSetItems(schema: Schema, check: Check): void {
  const items = itemSchema(schema)
  if (!hasMergedItems(schema) || items === undefined) return
  const field = items.type === 'array' ? 'x-kubernetes-list-type' : 'x-kubernetes-map-type'
  // Upstream shows the list type in both cases.
  const shown = items['x-kubernetes-list-type']
  check.at(field).invalid(shown, 'must be atomic as item of a list with x-kubernetes-list-type=set')
}

/** A set whose items would be merged: such a schema may be stored from before it was refused. */
export function hasMergedItems(schema: Schema): boolean {
  const items = itemSchema(schema)
  if (schema['x-kubernetes-list-type'] !== 'set' || items === undefined) return false
  if (items.type === 'array') return (items['x-kubernetes-list-type'] ?? 'atomic') !== 'atomic'
  return items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic'
}

function validateMapList(schema: Schema, keys: readonly string[], check: Check): void {
  if (keys.length === 0) check.at('x-kubernetes-list-map-keys').required('must not be empty if x-kubernetes-list-type is map')
  if (schema.items == null) check.at('items').required('must have a schema if x-kubernetes-list-type is map')
  const items = itemSchema(schema)
  if (items === undefined) {
    if (schema.items != null) check.at('items').invalid(schema.items, 'must only have a single schema if x-kubernetes-list-type is map')
    return
  }
  if (items.type !== 'object') {
    check.at('items.type').invalid(items.type ?? '', "must be object if parent array's x-kubernetes-list-type is map")
    return
  }
  const seen = new Set<string>()
  for (const key of keys) {
    const property = items.properties?.[key]
    const place = check.at('x-kubernetes-list-map-keys')
    if (property === undefined) place.invalid(keys, 'entries must all be names of item properties')
    else if (property.type === 'array' || property.type === 'object') {
      check
        .at('items.properties')
        .key(key)
        .at('type')
        .invalid(items.type, "must be a scalar type if parent array's x-kubernetes-list-type is map")
    }
    if (seen.has(key)) place.invalid(keys, 'must not contain duplicate entries')
    seen.add(key)
  }
}

/** Items of sets and maps must be told apart: no nulls, and no key without a value. `check` stands at the items. */
export function validateListKeys(schema: Schema, check: Check): void {
  const items = itemSchema(schema)
  const listType = schema['x-kubernetes-list-type']
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return
  if (items.nullable) check.at('nullable').forbidden(`cannot be nullable when x-kubernetes-list-type is ${listType}`)
  if (listType === 'set') return
  for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
    const property = items.properties?.[key]
    if (property === undefined) continue
    const place = check.at('properties').key(key)
    if (!items.required?.includes(key) && property.default == null) {
      place.at('default').required('this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property')
    }
    if (property.nullable) {
      place.at('nullable').forbidden('this property is in x-kubernetes-list-map-keys, so it cannot be nullable')
    }
  }
}

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']
const lineBreak = /[\n\r]/

/** Everything about a rule but its expression. */
function validateRule(rule: V1ValidationRule, schema: Schema, check: Check): void {
  const { rule: text = '', message = '', messageExpression = '', reason, fieldPath = '' } = rule
  if (text.trim() === '') check.at('rule').required('rule is not specified')
  else if (message !== '' && message.trim() === '') check.at('message').invalid(message, 'must be non-empty if specified')
  else if (lineBreak.test(message.trim())) check.at('message').invalid(message, 'must not contain line breaks')
  else if (lineBreak.test(text.trim()) && message.trim() === '') {
    check.at('message').required('message must be specified if rule contains line breaks')
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    check.at('messageExpression').required('messageExpression must be non-empty if specified')
  }
  if (reason != null && !reasons.includes(reason)) check.at('reason').notSupported(reason, reasons)
  if (fieldPath === '') return
  if (fieldPath.trim() === '') check.at('fieldPath').invalid(fieldPath, 'must be non-empty if specified')
  if (lineBreak.test(fieldPath)) check.at('fieldPath').invalid(fieldPath, 'must not contain line breaks')
  if (!leadsSomewhere(fieldPath, schema)) check.at('fieldPath').invalid(fieldPath, 'must be a valid path')
}

function leadsSomewhere(path: string, schema: Schema): boolean {
  if (unsupportedField(schema) !== undefined) return true
  try {
    followPath(path, schema)
    return true
  } catch {
    return false
  }
}
