/**
 * Structural schemas: every value has a type that is known without looking into allOf, anyOf, oneOf and not, which only narrow
 * it down. Pruning and defaulting need no more than that.
 */

import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import type { Check, FieldError } from '#api/meta/check.ts'
import { Check as Scratch } from '#api/meta/check.ts'
import { goPattern } from '#api/meta/go-pattern.ts'
import { append } from '#base/append.ts'
import { errorMessage } from '#base/error-message.ts'

type Schema = V1JSONSchemaProps
type Level = 'root' | 'item' | 'field'

/** Reports, sorted, what keeps the schema from being structural. */
export function validateStructural(check: Check<Schema>): void {
  const schema = check.value
  const found = new Scratch(schema, check.path)
  validateInvariants(found, 'root')
  validateCompleteness(schema, schema, found, found)
  append(
    check.errors,
    found.errors.sort((one, other) => (text(one) < text(other) ? -1 : 1)),
  )
}

const text = ({ field, body }: FieldError): string => `${field}: ${body}`

/** What no structural schema can hold at all; upstream's words, or nothing. */
export function unsupportedField(schema: Schema): string | undefined {
  return unsupportedFields()(schema)
}

/** As `unsupportedField` for many schemas of which some lie in others: each of them is looked at once. */
export function unsupportedFields(): (schema: Schema) => string | undefined {
  const known = new Map<Schema, string | undefined>()
  const find = (schema: Schema): string | undefined => {
    if (!known.has(schema)) known.set(schema, unsupportedIn(schema, find))
    return known.get(schema)
  }
  return find
}

function unsupportedIn(schema: Schema, find: (inside: Schema) => string | undefined): string | undefined {
  const name = unsupportedName(schema)
  if (name !== undefined) return `OpenAPIV3Schema '${name}' is not supported`
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
  }
  if (Array.isArray(schema.items) && schema.items.length > 0) return "OpenAPIV3Schema 'items' must be a schema, but is an array"
  for (const list of [schema.allOf, schema.anyOf, schema.oneOf]) {
    for (const each of list ?? []) {
      const error = find(each)
      if (error !== undefined) return error
    }
  }
  for (const each of [schema.not, itemSchema(schema), schema.additionalProperties]) {
    const error = isSchema(each) ? find(each) : undefined
    if (error !== undefined) return error
  }
  for (const name in schema.properties) {
    const error = find(schema.properties[name] as Schema)
    if (error !== undefined) return error
  }
  return undefined
}

function unsupportedName(schema: Schema): string | undefined {
  if (schema.id) return 'id'
  if (schema.$schema) return 'schema'
  if (schema.$ref) return '$ref'
  if (hasKeys(schema.patternProperties)) return 'patternProperties'
  if (hasKeys(schema.dependencies)) return 'dependencies'
  if (schema.additionalItems != null) return 'additionalItems'
  return hasKeys(schema.definitions) ? 'definitions' : undefined
}

const hasKeys = (map: object | undefined): boolean => map !== undefined && Object.keys(map).length > 0

const emptyType = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

function validateInvariants(check: Check<Schema>, level: Level): void {
  const schema = check.value
  const { type = '', properties = {}, additionalProperties } = schema
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  const isIntOrString = schema['x-kubernetes-int-or-string'] === true
  const preservesUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true
  const items = itemSchema(schema)

  if (type === 'array' && items === undefined) check.at('items').required('must be specified')
  if (items !== undefined) validateInvariants(check.at('items').with(items), 'item')
  for (const [name, property] of Object.entries(properties)) validateInvariants(check.at('properties').key(name).with(property), 'field')
  if (additionalProperties != null) {
    if (level === 'root') check.at('additionalProperties').forbidden('must not be used at the root')
    if (isSchema(additionalProperties)) validateInvariants(check.at('additionalProperties').with(additionalProperties), 'field')
  }
  if (isIntOrString && preservesUnknown) {
    check.at('x-kubernetes-preserve-unknown-fields').invalid('must be false if x-kubernetes-int-or-string is true', true)
  }
  if (isIntOrString && isEmbedded) {
    check.at('x-kubernetes-embedded-resource').invalid('must be false if x-kubernetes-int-or-string is true', true)
  }
  const [firstAllOf] = schema.allOf ?? []
  validateJunctors(check, { anyOf: isIntOrStringChoice(schema.anyOf), firstAllOf: isIntOrStringChoice(firstAllOf?.anyOf) })
  validateType(check, level, { isEmbedded, hasFreeType: isIntOrString || preservesUnknown })
  if (isEmbedded && additionalProperties != null) {
    check.at('additionalProperties').forbidden('must not be used if x-kubernetes-embedded-resource is set')
  }
  if (level === 'root' && type !== '' && type !== 'object') check.at('type').or('').invalid('must be object at the root')
  validateMeta(check, level)
  if (isEmbedded && !preservesUnknown && Object.keys(properties).length === 0) {
    check
      .at('properties')
      .required('must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields')
  }
}

function validateType(check: Check<Schema>, level: Level, is: { isEmbedded: boolean; hasFreeType: boolean }): void {
  const { type = '' } = check.value
  if (is.isEmbedded && type !== 'object') {
    const message = 'must be object if x-kubernetes-embedded-resource is true'
    if (type === '') check.at('type').required(message)
    else check.at('type').or('').invalid(message)
  } else if (type === '' && !is.hasFreeType) check.at('type').required(emptyType[level])
}

/** The fields every resource has are known; a schema may do no more than narrow down the name. */
function validateMeta(check: Check<Schema>, level: Level): void {
  const schema = check.value
  const isResource = level === 'root' || schema['x-kubernetes-embedded-resource'] === true
  const properties = check.at('properties')
  for (const name of ['kind', 'apiVersion']) {
    const property = schema.properties?.[name]
    if (isResource && property !== undefined && property.type !== 'string') {
      properties.key(name).at('type').or('').invalid('must be string')
    }
  }
  const metadata = schema.properties?.['metadata']
  if (metadata === undefined) return
  if (isResource && metadata.type !== 'object') properties.key('metadata').at('type').or('').invalid('must be object')
  if (level === 'root' && !onlyNarrowsName(metadata)) {
    properties.key('metadata').forbidden('must not specify anything other than name and generateName, but metadata is implicitly specified')
  }
}

function onlyNarrowsName({ type: _type, default: _default, properties = {}, ...rest }: Schema): boolean {
  const names = Object.keys(properties)
  return names.every((name) => name === 'name' || name === 'generateName') && Object.values(rest).every(isZero)
}

/** What Go would find unset. */
function isZero(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true
  return Array.isArray(value) && value.length === 0
}

/** The one way to say the type inside a junctor: it may be a number or a text. */
function isIntOrStringChoice(schemas: readonly Schema[] | undefined): boolean {
  if (schemas?.length !== 2) return false
  return schemas.map((schema) => JSON.stringify(schema)).join() === '{"type":"integer"},{"type":"string"}'
}

type Skips = { anyOf?: boolean; firstAllOf?: boolean }

function validateJunctors(check: Check<Schema>, skip: Skips = {}): void {
  const schema = check.value
  const nested = (field: 'anyOf' | 'allOf' | 'oneOf', skipFor: (index: number) => Skips = () => ({})) => {
    for (const [index, each] of (schema[field] ?? []).entries()) validateNested(check.at(field).at(index).with(each), skipFor(index))
  }
  if (!skip.anyOf) nested('anyOf')
  nested('allOf', (index) => ({ anyOf: index === 0 && skip.firstAllOf === true }))
  nested('oneOf')
  if (schema.not != null) validateNested(check.at('not').present)
  if (schema.pattern) validatePattern(check.at('pattern').present)
}

function validatePattern(check: Check<string>): void {
  const pattern = check.value
  try {
    goPattern(pattern)
  } catch (error) {
    const reason = errorMessage(error)
    check.invalid(`must be a valid regular expression, but isn't: ${reason}`)
  }
}

const mustBeEmpty: [keyof Schema, string][] = [
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
]

/** Inside a junctor only conditions on values may stand. */
function validateNested(check: Check<Schema>, skip: Skips = {}): void {
  const schema = check.value
  validateJunctors(check, skip)
  const items = itemSchema(schema)
  if (items !== undefined) validateNested(check.at('items').with(items))
  for (const [name, property] of Object.entries(schema.properties ?? {})) validateNested(check.at('properties').key(name).with(property))
  if (schema.type) check.at('type').forbidden('must be empty to be structural')
  if (schema.additionalProperties) check.at('additionalProperties').forbidden('must be undefined to be structural')
  for (const [field, message] of mustBeEmpty) if (!isZero(schema[field])) check.at(field).forbidden(message)
  if (schema.properties?.['metadata'] !== undefined) {
    check.at('properties').key('metadata').forbidden('must not be specified in a nested context')
  }
}

/** What a junctor of the root speaks of must be declared outside of junctors as well. */
function validateCompleteness(
  condition: Schema,
  schema: Schema,
  place: Check<V1JSONSchemaProps>,
  conditionPlace: Check<V1JSONSchemaProps>,
): void {
  const visit = (path: Check<Schema>) => validateNestedCompleteness(path.value, schema, place, path)
  if (condition.not != null) visit(conditionPlace.at('not').with(condition.not))
  for (const field of ['allOf', 'anyOf', 'oneOf'] as const) {
    for (const [index, nested] of (condition[field] ?? []).entries()) visit(conditionPlace.at(field).at(index).with(nested))
  }
}

function validateNestedCompleteness(
  nested: Schema,
  schema: Schema | undefined,
  place: Check<Schema | undefined>,
  path: Check<Schema>,
): void {
  if (schema === undefined) {
    place.required(`because it is defined in ${path.path}`)
    return
  }
  validateCompleteness(nested, schema, place.with(schema), path)
  const items = itemSchema(nested)
  if (items !== undefined) {
    const declared = itemSchema(schema)
    validateNestedCompleteness(items, declared, place.at('items').with(declared), path.at('items').with(items))
  }
  for (const [name, property] of Object.entries(nested.properties ?? {})) {
    const declared = place.at('properties').key(name)
    validateNestedCompleteness(property, declared.value, declared, path.at('properties').key(name).with(property))
  }
}
