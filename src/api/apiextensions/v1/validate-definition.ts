/** Validates the spec of a definition, version by version and as a whole. */

import { quotedSchema, quotedVersions } from '#api/apiextensions/v1/quote-versions.ts'
import { followPath } from '#api/apiextensions/v1/schema/field-path.ts'
import { unsupportedField, validateStructural } from '#api/apiextensions/v1/schema/structural.ts'
import { validateDefaults } from '#api/apiextensions/v1/schema/validate-defaults.ts'
import { validateRules } from '#api/apiextensions/v1/schema/validate-rules.ts'
import { validateOpenApiSchema } from '#api/apiextensions/v1/schema/validate-schema.ts'
import { someSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { Strictness } from '#api/apiextensions/v1/strictness.ts'
import type {
  V1CustomResourceColumnDefinition,
  V1CustomResourceDefinitionNames,
  V1CustomResourceDefinitionVersion,
  V1CustomResourceSubresources,
  V1CustomResourceValidation,
  V1JSONSchemaProps,
  V1SelectableField,
} from '#api/apiextensions/v1/types.gen.ts'
import { schemasOf, type UnversionedSpec } from '#api/apiextensions/v1/unversioned-spec.ts'
import { validateConversion } from '#api/apiextensions/v1/validate-conversion.ts'
import type { Check } from '#api/meta/check.ts'
import { byteLength, dns1035Label, dns1123Subdomain, type Format } from '#api/meta/names.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Steps } from '#base/steps.ts'

/** All that a format holds against the value, in one error. */
function mustBeJoined(format: Format, check: Check<string>): void {
  const value = check.value
  const errors = format(value)
  if (errors.length > 0) check.invalid(errors.join(','))
}

const scopes = ['Cluster', 'Namespaced']

/** In steps: each goes through a schema once, which takes ten milliseconds for one of a megabyte. */
export function* validateSpec(check: Check<UnversionedSpec>, given: Strictness): Steps<void> {
  const spec = check.value
  const { scope, names, versions = [] } = spec
  validateGroup(check.at('group'))
  if (scope === '') check.at('scope').required()
  else if (!scopes.includes(scope)) check.at('scope').notSupported(scopes)

  const strictness = { ...given, structural: given.structural || needsStructure(spec) }
  yield
  validateSchemasPresent(spec, check.at('versions'), strictness)
  if (spec.preserveUnknownFields && schemasOf(spec).some((schema) => someSchema(schema, (each) => each.default != null))) {
    check.at('preserveUnknownFields').invalid('must be false in order to use defaults in the schema', true)
  }
  const perVersion = versions.some(({ subresources }) => subresources != null)
  for (const item of check.at('versions').items()) {
    yield
    mustBeJoined(dns1035Label, item.at('name').or(''))
    yield* validateVersion(item, perVersion ? undefined : spec.subresources, strictness)
  }
  yield
  if (new Set(versions.map(({ name }) => name)).size < versions.length) {
    check.at('versions').invalid('must contain unique version names', quotedVersions(spec.versions))
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    check.at('versions').invalid('must have exactly one version marked as storage version', quotedVersions(spec.versions))
  }
  if (spec.version !== '') mustBeJoined(dns1035Label, check.at('version'))

  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const) if (!names[field]) check.at('names').at(field).required()
  validateNames(check.at('names'))
  const hasStatus = [spec.subresources, ...versions.map((version) => version.subresources)].some((each) => each?.status != null)
  yield* validateValidation(check.at('validation'), hasStatus, strictness, strictness.unchanged.has(spec.version))
  validateSubresources(check.at('subresources'))
  check.at('additionalPrinterColumns').each(validateColumn)
  if (spec.selectableFields?.length) {
    const schema = spec.validation?.openAPIV3Schema
    const place = check.at('selectableFields')
    if (schema === undefined) place.invalid('may only be set when validations.schema is included', '')
    else validateSelectableFields(place.present, schema, strictness.manySelectableFields.has(''))
  }
  validateConversion(spec, check.at('conversion'), strictness)
}

function validateGroup(check: Check<string>): void {
  const group = check.value
  if (group === '') check.required()
  else if (dns1123Subdomain(group).length > 0) mustBeJoined(dns1123Subdomain, check)
  else if (!group.includes('.')) check.invalid('should be a domain with at least one dot')
}

/** Pruning, defaulting and rules need structure, whatever the stored definition was allowed. */
function needsStructure(spec: UnversionedSpec): boolean {
  return (
    !spec.preserveUnknownFields ||
    schemasOf(spec).some((schema) => someSchema(schema, (each) => each.default != null || usesExtensions(each)))
  )
}

function usesExtensions(schema: V1JSONSchemaProps): boolean {
  return (
    schema['x-kubernetes-embedded-resource'] === true ||
    schema['x-kubernetes-preserve-unknown-fields'] != null ||
    schema['x-kubernetes-int-or-string'] === true ||
    (schema['x-kubernetes-list-map-keys']?.length ?? 0) > 0 ||
    schema['x-kubernetes-list-type'] != null ||
    (schema['x-kubernetes-validations']?.length ?? 0) > 0
  )
}

function validateSchemasPresent(
  { validation, versions, preserveUnknownFields }: UnversionedSpec,
  check: Check<unknown>,
  given: Strictness,
): void {
  if (validation?.openAPIV3Schema != null) return
  check.with(versions).each((item) => {
    const { schema, served } = item.value
    if (schema?.openAPIV3Schema != null) return
    if (given.schemaPresent) item.at('schema').at('openAPIV3Schema').required()
    else if (served && !preserveUnknownFields) item.at('schema').at('openAPIV3Schema').required('because otherwise all fields are pruned')
  })
}

/** `shared` are the subresources of the definition, where its versions have none of their own. */
function* validateVersion(
  check: Check<V1CustomResourceDefinitionVersion>,
  shared: UnversionedSpec['subresources'],
  strictness: Strictness,
): Steps<void> {
  const version = check.value
  for (const message of deprecationWarningErrors(version)) check.at('deprecationWarning').invalid(message)
  const hasStatus = (version.subresources ?? shared)?.status != null
  yield* validateValidation(check.at('schema'), hasStatus, strictness, strictness.unchanged.has(version.name))
  validateSubresources(check.at('subresources'))
  check.at('additionalPrinterColumns').each(validateColumn)
  if (!version.selectableFields?.length) return
  const place = check.at('selectableFields')
  const schema = version.schema?.openAPIV3Schema
  if (schema === undefined) place.invalid('may only be set when `version.schema.openAPIV3Schema` is not included', '')
  else validateSelectableFields(place.present, schema, strictness.manySelectableFields.has(version.name))
}

function deprecationWarningErrors({ deprecated, deprecationWarning: warning }: V1CustomResourceDefinitionVersion): string[] {
  if (warning == null) return []
  if (!deprecated) return ['can only be set for deprecated versions']
  const errors: string[] = []
  if (byteLength(warning) > 256) errors.push('must be <= 256 characters long')
  if (warning === '') errors.push('must not be an empty string')
  const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(warning)
  if (unprintable !== null) {
    const index = byteLength(warning.slice(0, unprintable.index))
    errors.push(`must only contain printable UTF-8 characters; non-printable character found at index ${index}`)
  }
  return errors
}

const allowedAtRoot = [
  ...['Description', 'Type', 'Format', 'Title', 'Maximum', 'ExclusiveMaximum', 'Minimum', 'ExclusiveMinimum', 'MaxLength', 'MinLength'],
  ...['Pattern', 'MaxItems', 'MinItems', 'UniqueItems', 'MultipleOf', 'Required', 'Items', 'Properties', 'ExternalDocs', 'Example'],
  ...['XPreserveUnknownFields', 'XValidations'],
]

function* validateValidation(
  check: Check<V1CustomResourceValidation | undefined>,
  hasStatus: boolean,
  strictness: Strictness,
  isUnchanged: boolean,
): Steps<void> {
  const validation = check.value
  const schema = validation?.openAPIV3Schema
  if (schema == null) return
  const before = check.errors.length
  const place = check.at('openAPIV3Schema')
  if (hasStatus) validateRootWithStatus(place.present)
  if (schema.nullable) place.at('nullable').forbidden('nullable cannot be true at the root')

  const unsupported = strictness.structural ? unsupportedField(schema) : undefined
  yield
  const beforeStructure = check.errors.length
  if (strictness.structural && unsupported === undefined) {
    validateStructural(place.present)
    yield
    if (check.errors.length === beforeStructure) yield* validateDefaults(place.present, { mustBePruned: strictness.prunedDefaults })
  }
  const isStructural = strictness.structural && unsupported === undefined && check.errors.length === beforeStructure
  yield
  const beforeSchema = check.errors.length
  validateOpenApiSchema(place.present, strictness)
  yield
  if (check.errors.length === before && unsupported !== undefined) place.invalid(unsupported, '')
  if (isStructural && check.errors.length === beforeSchema) {
    yield* validateRules(place.present, { expressions: strictness.storedExpressions, isUnchanged })
  }
}

/** The status is taken out of the schema and validated on its own, hence the root can hold little else. */
function validateRootWithStatus(check: Check<V1JSONSchemaProps>): void {
  const schema = check.value
  for (const [field, value] of Object.entries(quotedSchema(schema))) {
    if (value === null || value === '' || value === false) continue
    if (field === 'Type') {
      if (schema.type === 'object') continue
      check.at('type').invalid('only "object" is allowed as the type at the root of the schema if the status subresource is enabled')
      return
    }
    if (allowedAtRoot.includes(field)) continue
    check.invalid(
      `only [${allowedAtRoot.join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`,
      quotedSchema(schema),
    )
    return
  }
}

export function validateNames(check: Check<Partial<V1CustomResourceDefinitionNames>>): void {
  const names = check.value
  const { plural, singular, kind, listKind } = names
  if (plural) mustBeJoined(dns1035Label, check.at('plural').present)
  if (singular) mustBeJoined(dns1035Label, check.at('singular').present)
  for (const field of ['kind', 'listKind'] as const) {
    const value = names[field]
    const errors = value ? dns1035Label(value.toLowerCase()) : []
    if (errors.length > 0) check.at(field).invalid(`may have mixed case, but should otherwise match: ${errors.join(',')}`)
  }
  check.at('shortNames').each((item) => mustBeJoined(dns1035Label, item))
  if (kind && kind === listKind) check.at('listKind').invalid('kind and listKind may not be the same')
  check.at('categories').each((item) => mustBeJoined(dns1035Label, item))
}

function validateSubresources(check: Check<V1CustomResourceSubresources | undefined>): void {
  const subresources = check.value
  const scale = subresources?.scale
  if (scale == null) return
  const place = check.at('scale')
  const under = (field: 'specReplicasPath' | 'statusReplicasPath', parent: string) => {
    const path = scale[field]
    if (!path) place.at(field).required()
    else if (isSimplePath(place.at(field).with(path)) && !path.startsWith(`${parent}.`)) {
      place.at(field).invalid(`should be a json path under ${parent}`)
    }
  }
  under('specReplicasPath', '.spec')
  under('statusReplicasPath', '.status')
  const { labelSelectorPath } = scale
  if (!labelSelectorPath || !isSimplePath(place.at('labelSelectorPath').present)) return
  if (!/^\.(spec|status)\./.test(labelSelectorPath)) {
    place.at('labelSelectorPath').invalid('should be a json path under either .spec or .status')
  }
}

function isSimplePath(check: Check<string>): boolean {
  const path = check.value
  if (path.startsWith('.')) return true
  check.invalid('must be a simple json path starting with .')
  return false
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

function validateColumn(check: Check<V1CustomResourceColumnDefinition>): void {
  const { name, type, format, jsonPath } = check.value
  if (!name) check.at('name').required()
  const types = `must be one of ${columnTypes.join(',')}`
  if (!type) check.at('type').required(types)
  else if (!columnTypes.includes(type)) check.at('type').invalid(types)
  if (format && !columnFormats.includes(format)) check.at('format').invalid(`must be one of ${columnFormats.join(',')}`)
  if (!jsonPath) check.dynamic('JSONPath').required()
  else isSimplePath(check.dynamic('JSONPath').with(jsonPath))
}

const maxSelectableFields = 8
const selectableTypes = ['string', 'boolean', 'integer']

function validateSelectableFields(check: Check<readonly V1SelectableField[]>, root: V1JSONSchemaProps, mayBeMany: boolean): void {
  const seen = new Set<string>()
  check.each((item) => {
    const { jsonPath = '' } = item.value
    const place = item.at('jsonPath')
    if (jsonPath === '') {
      place.required()
      return
    }
    try {
      const { segments, schema } = followPath(jsonPath, root, { mayIndex: false })
      if (segments[0] === 'metadata') place.or('').invalid('must not point to fields in metadata')
      if (!selectableTypes.includes(schema?.type ?? '')) {
        place
          .or('')
          .invalid('must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.')
      }
      const path = segments.join('.')
      if (seen.has(path)) place.or('').duplicate()
      seen.add(path)
    } catch (error) {
      place.or('').invalid(`is an invalid path: ${errorMessage(error)}`)
    }
  })
  if (seen.size > maxSelectableFields && !mayBeMany) check.tooMany(seen.size, maxSelectableFields)
}
