/** Validates the schema of a custom resource: what of OpenAPI it may use, and how lists, maps and rules may be declared. */
import { followPath } from '#api/apiextensions/v1/schema/field-path.ts'
import { unsupportedFields } from '#api/apiextensions/v1/schema/structural.ts'
import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps, V1ValidationRule } from '#api/apiextensions/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'

type Schema = V1JSONSchemaProps

/** What a stored definition already has wrong need not be right in an update of it. */
export type SchemaRules = { validTypes: boolean; atomicSets: boolean; sureListKeys: boolean }

/** What the schemas around this one say about it. */
type SchemaContext = {
  rules: SchemaRules
  isRoot: boolean
  /** Why there may be no default here; undefined where there may. */
  noDefaults: string | undefined
  isInsideMeta: boolean
  unsupportedIn(schema: Schema): string | undefined
}

export const openApiTypes = ['array', 'boolean', 'integer', 'number', 'object', 'string']

export function validateOpenApiSchema(check: Check<Schema>, rules: SchemaRules): void {
  validateSchema(check, { rules, isRoot: true, noDefaults: undefined, isInsideMeta: false, unsupportedIn: unsupportedFields() })
}

const metaFields = ['metadata', 'kind', 'apiVersion']

function validateSchema(check: Check<Schema>, around: SchemaContext): void {
  const schema = check.value
  const inside = { ...around, isRoot: false }
  validateSupport(check, around)
  if (schema.uniqueItems) {
    check.at('uniqueItems').forbidden('uniqueItems cannot be set to true since the runtime complexity becomes quadratic')
  }
  validateAdditionalProperties(check, inside)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isMeta = (around.isRoot || schema['x-kubernetes-embedded-resource'] === true) && metaFields.includes(name)
    validateSchema(check.at('properties').key(name).with(property), {
      ...inside,
      isInsideMeta: inside.isInsideMeta || isMeta,
      noDefaults: isMeta && around.isRoot ? `in top-level ${name}` : inside.noDefaults,
    })
  }
  if (schema.not != null) validateSchema(check.at('not').present, inside)
  for (const field of ['allOf', 'oneOf', 'anyOf'] as const) {
    check.at(field).each((item) => validateSchema(item, inside))
  }
  for (const [name, definition] of Object.entries(schema.definitions ?? {})) {
    validateSchema(check.at('definitions').key(name).with(definition), inside)
  }
  const items = itemSchema(schema)
  if (items !== undefined) validateSchema(check.at('items').with(items), inside)
  if (Array.isArray(schema.items)) check.at('items').each((place) => validateSchema(place, inside))
  for (const [name, dependency] of Object.entries(schema.dependencies ?? {})) {
    if (isSchema(dependency)) validateSchema(check.at('dependencies').key(name).with(dependency), inside)
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    check.at('x-kubernetes-preserve-unknown-fields').invalid('must be true or undefined', false)
  }
  validateMapType(check)
  validateListType(check, around.rules)
  check.at('x-kubernetes-validations').each((item) => validateRule(item, schema, around))
}

/** What of OpenAPI there is no support for. */
function validateSupport(check: Check<Schema>, { rules, noDefaults, isInsideMeta }: SchemaContext): void {
  const schema = check.value
  const { type } = schema
  const unsupported = (field: keyof Schema & string, isUsed: boolean) => {
    if (isUsed) check.at(field).forbidden(`${field} is not supported`)
  }
  if (rules.validTypes && type && !openApiTypes.includes(type)) check.at('type').notSupported(openApiTypes)
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

function validateAdditionalProperties(check: Check<Schema>, inside: SchemaContext): void {
  const { additionalProperties, properties } = check.value
  if (additionalProperties == null) return
  const place = check.at('additionalProperties')
  if (Object.keys(properties ?? {}).length > 0 && additionalProperties !== true) {
    place.forbidden('additionalProperties and properties are mutual exclusive')
  }
  if (!isSchema(additionalProperties)) return
  const noDefaults = inside.isInsideMeta ? 'inside additionalProperties applying to object metadata' : inside.noDefaults
  validateSchema(place.with(additionalProperties), { ...inside, noDefaults })
}

function validateMapType(check: Check<Schema>): void {
  const schema = check.value
  const mapType = schema['x-kubernetes-map-type']
  if (mapType == null) return
  validateHasType(check, 'object', 'x-kubernetes-map-type')
  if (mapType !== 'atomic' && mapType !== 'granular') check.at('x-kubernetes-map-type').notSupported(['atomic', 'granular'])
}

function validateHasType(check: Check<Schema>, wanted: string, because: string): void {
  const { type } = check.value
  const message = `must be ${wanted} if ${because} is specified`
  if (!type) check.at('type').required(message)
  else if (type !== wanted) check.at('type').invalid(message)
}

const listTypes = ['atomic', 'set', 'map']

function validateListType(check: Check<Schema>, rules: SchemaRules): void {
  const schema = check.value
  const listType = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const place = check.at('x-kubernetes-list-type')
  if (listType != null) {
    if (schema.type !== 'array') validateHasType(check, 'array', 'x-kubernetes-list-type')
    else if (rules.atomicSets) validateSetItems(schema, check.at('items'))
    if (!listTypes.includes(listType)) place.notSupported(listTypes)
  }
  if (keys.length > 0 && listType !== 'map') {
    const message = 'must be map if x-kubernetes-list-map-keys is non-empty'
    if (listType == null) place.required(message)
    else place.invalid(message)
  }
  if (listType === 'map') validateMapList(check, keys)
  if (rules.sureListKeys) validateListKeys(schema, check.at('items'))
}

/** Items of a set are compared as a whole, hence must not be merged field by field. */
function validateSetItems(schema: Schema, check: Check<V1JSONSchemaProps | V1JSONSchemaProps[] | undefined>): void {
  const items = itemSchema(schema)
  if (!hasMergedItems(schema) || items === undefined) return
  const field = items.type === 'array' ? 'x-kubernetes-list-type' : 'x-kubernetes-map-type'
  // Upstream shows the list type in both cases.
  const shown = items['x-kubernetes-list-type']
  check.dynamic(field).invalid('must be atomic as item of a list with x-kubernetes-list-type=set', shown)
}

/** A set whose items would be merged: such a schema may be stored from before it was refused. */
export function hasMergedItems(schema: Schema): boolean {
  const items = itemSchema(schema)
  if (schema['x-kubernetes-list-type'] !== 'set' || items === undefined) return false
  if (items.type === 'array') return (items['x-kubernetes-list-type'] ?? 'atomic') !== 'atomic'
  return items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic'
}

function validateMapList(check: Check<Schema>, keys: readonly string[]): void {
  const schema = check.value
  if (keys.length === 0) check.at('x-kubernetes-list-map-keys').required('must not be empty if x-kubernetes-list-type is map')
  if (schema.items == null) check.at('items').required('must have a schema if x-kubernetes-list-type is map')
  const items = itemSchema(schema)
  if (items === undefined) {
    if (schema.items != null) check.at('items').invalid('must only have a single schema if x-kubernetes-list-type is map')
    return
  }
  if (items.type !== 'object') {
    check
      .at('items')
      .dynamic('type')
      .invalid("must be object if parent array's x-kubernetes-list-type is map", items.type ?? '')
    return
  }
  const seen = new Set<string>()
  for (const key of keys) {
    const property = items.properties?.[key]
    const place = check.at('x-kubernetes-list-map-keys')
    if (property === undefined) place.invalid('entries must all be names of item properties', keys)
    else if (property.type === 'array' || property.type === 'object') {
      check
        .at('items')
        .dynamic('properties')
        .key(key)
        .dynamic('type')
        .invalid("must be a scalar type if parent array's x-kubernetes-list-type is map", items.type)
    }
    if (seen.has(key)) place.invalid('must not contain duplicate entries', keys)
    seen.add(key)
  }
}

/** Items of sets and maps must be told apart: no nulls, and no key without a value. `check` stands at the items. */
export function validateListKeys(schema: Schema, check: Check<V1JSONSchemaProps | V1JSONSchemaProps[] | undefined>): void {
  const items = itemSchema(schema)
  const listType = schema['x-kubernetes-list-type']
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return
  if (items.nullable) check.dynamic('nullable').forbidden(`cannot be nullable when x-kubernetes-list-type is ${listType}`)
  if (listType === 'set') return
  const isRequired = new Set(items.required)
  for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
    const property = items.properties?.[key]
    if (property === undefined) continue
    const place = check.dynamic('properties').key(key)
    if (!isRequired.has(key) && property.default == null) {
      place
        .dynamic('default')
        .required('this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property')
    }
    if (property.nullable) {
      place.dynamic('nullable').forbidden('this property is in x-kubernetes-list-map-keys, so it cannot be nullable')
    }
  }
}

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']
const lineBreak = /[\n\r]/

/** Everything about a rule but its expression. */
function validateRule(check: Check<V1ValidationRule>, schema: Schema, { unsupportedIn }: SchemaContext): void {
  const rule = check.value
  const { rule: text = '', message = '', messageExpression = '', reason, fieldPath = '' } = rule
  if (text.trim() === '') check.at('rule').required('rule is not specified')
  else if (message !== '' && message.trim() === '') check.at('message').or('').invalid('must be non-empty if specified')
  else if (lineBreak.test(message.trim())) check.at('message').or('').invalid('must not contain line breaks')
  else if (lineBreak.test(text.trim()) && message.trim() === '') {
    check.at('message').required('message must be specified if rule contains line breaks')
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    check.at('messageExpression').required('messageExpression must be non-empty if specified')
  }
  if (reason != null && !reasons.includes(reason)) check.at('reason').notSupported(reasons)
  if (fieldPath === '') return
  if (fieldPath.trim() === '') check.at('fieldPath').or('').invalid('must be non-empty if specified')
  if (lineBreak.test(fieldPath)) check.at('fieldPath').or('').invalid('must not contain line breaks')
  if (unsupportedIn(schema) === undefined && !leadsSomewhere(fieldPath, schema))
    check.at('fieldPath').or('').invalid('must be a valid path')
}

function leadsSomewhere(path: string, schema: Schema): boolean {
  try {
    followPath(path, schema)
    return true
  } catch {
    return false
  }
}
