/** Judges the spec of a definition, version by version and as a whole. */
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
import { each } from '#api/meta/each.ts'
import { byteLength, dns1035Label, dns1123Subdomain, type Format } from '#api/meta/names.ts'

/** All that a format holds against the value, in one error. */
function mustBeJoined(format: Format, value: string, check: Check): void {
  const errors = format(value)
  if (errors.length > 0) check.invalid(value, errors.join(','))
}

const scopes = ['Cluster', 'Namespaced']

export function validateSpec(spec: UnversionedSpec, check: Check, given: Strictness): void {
  const { group, scope, names, versions = [] } = spec
  validateGroup(group, check.at('group'))
  if (scope === '') check.at('scope').required()
  else if (!scopes.includes(scope)) check.at('scope').notSupported(scope, scopes)

  const strictness = { ...given, structural: given.structural || needsStructure(spec) }
  validateSchemasPresent(spec, check.at('versions'), strictness)
  if (spec.preserveUnknownFields && schemasOf(spec).some((schema) => someSchema(schema, (each) => each.default != null))) {
    check.at('preserveUnknownFields').invalid(true, 'must be false in order to use defaults in the schema')
  }
  each(versions, check.at('versions'), (version, item) => {
    mustBeJoined(dns1035Label, version.name ?? '', item.at('name'))
    validateVersion(version, spec, item, strictness)
  })
  if (new Set(versions.map(({ name }) => name)).size < versions.length) {
    check.at('versions').invalid(quotedVersions(spec.versions), 'must contain unique version names')
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    check.at('versions').invalid(quotedVersions(spec.versions), 'must have exactly one version marked as storage version')
  }
  if (spec.version !== '') mustBeJoined(dns1035Label, spec.version, check.at('version'))

  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const) if (!names[field]) check.at('names').at(field).required()
  validateNames(names, check.at('names'))
  const hasStatus = [spec.subresources, ...versions.map((version) => version.subresources)].some((each) => each?.status != null)
  validateValidation(spec.validation, hasStatus, check.at('validation'), strictness, strictness.unchanged.has(spec.version))
  validateSubresources(spec.subresources, check.at('subresources'))
  each(spec.additionalPrinterColumns, check.at('additionalPrinterColumns'), validateColumn)
  if (spec.selectableFields?.length) {
    const schema = spec.validation?.openAPIV3Schema
    const place = check.at('selectableFields')
    if (schema === undefined) place.invalid('', 'may only be set when validations.schema is included')
    else validateSelectableFields(spec.selectableFields, schema, place, strictness.manySelectableFields.has(''))
  }
  validateConversion(spec, check.at('conversion'), strictness)
}

function validateGroup(group: string, check: Check): void {
  if (group === '') check.required()
  else if (dns1123Subdomain(group).length > 0) mustBeJoined(dns1123Subdomain, group, check)
  else if (!group.includes('.')) check.invalid(group, 'should be a domain with at least one dot')
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

function validateSchemasPresent({ validation, versions, preserveUnknownFields }: UnversionedSpec, check: Check, given: Strictness): void {
  if (validation?.openAPIV3Schema != null) return
  each(versions, check, ({ schema, served }, item) => {
    if (schema?.openAPIV3Schema != null) return
    if (given.schemaPresent) item.at('schema.openAPIV3Schema').required()
    else if (served && !preserveUnknownFields) item.at('schema.openAPIV3Schema').required('because otherwise all fields are pruned')
  })
}

function validateVersion(version: V1CustomResourceDefinitionVersion, spec: UnversionedSpec, check: Check, strictness: Strictness): void {
  for (const message of deprecationWarningErrors(version)) check.at('deprecationWarning').invalid(version.deprecationWarning, message)
  const perVersion = spec.versions?.some(({ subresources }) => subresources != null) === true
  const hasStatus = (perVersion ? version.subresources : spec.subresources)?.status != null
  validateValidation(version.schema, hasStatus, check.at('schema'), strictness, strictness.unchanged.has(version.name))
  validateSubresources(version.subresources, check.at('subresources'))
  each(version.additionalPrinterColumns, check.at('additionalPrinterColumns'), validateColumn)
  if (!version.selectableFields?.length) return
  const place = check.at('selectableFields')
  const schema = version.schema?.openAPIV3Schema
  if (schema === undefined) place.invalid('', 'may only be set when `version.schema.openAPIV3Schema` is not included')
  else validateSelectableFields(version.selectableFields, schema, place, strictness.manySelectableFields.has(version.name))
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

function validateValidation(
  validation: V1CustomResourceValidation | undefined,
  hasStatus: boolean,
  check: Check,
  strictness: Strictness,
  isUnchanged: boolean,
): void {
  const schema = validation?.openAPIV3Schema
  if (schema == null) return
  const before = check.errors.length
  const place = check.at('openAPIV3Schema')
  if (hasStatus) validateRootWithStatus(schema, place)
  if (schema.nullable) place.at('nullable').forbidden('nullable cannot be true at the root')

  const unsupported = strictness.structural ? unsupportedField(schema) : undefined
  const beforeStructure = check.errors.length
  if (strictness.structural && unsupported === undefined) {
    validateStructural(schema, place)
    if (check.errors.length === beforeStructure) validateDefaults(schema, place, { mustBePruned: strictness.prunedDefaults })
  }
  const isStructural = strictness.structural && unsupported === undefined && check.errors.length === beforeStructure
  const beforeSchema = check.errors.length
  validateOpenApiSchema(schema, place, strictness)
  if (check.errors.length === before && unsupported !== undefined) place.invalid('', unsupported)
  if (isStructural && check.errors.length === beforeSchema) {
    validateRules(schema, place, { expressions: strictness.storedExpressions, isUnchanged })
  }
}

/** The status is taken out of the schema and judged on its own, hence the root can hold little else. */
function validateRootWithStatus(schema: V1JSONSchemaProps, check: Check): void {
  for (const [field, value] of Object.entries(quotedSchema(schema))) {
    if (value === null || value === '' || value === false) continue
    if (field === 'Type') {
      if (schema.type === 'object') continue
      check
        .at('type')
        .invalid(schema.type, 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled')
      return
    }
    if (allowedAtRoot.includes(field)) continue
    check.invalid(
      quotedSchema(schema),
      `only [${allowedAtRoot.join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`,
    )
    return
  }
}

export function validateNames(names: Partial<V1CustomResourceDefinitionNames>, check: Check): void {
  const { plural, singular, kind, listKind, shortNames, categories } = names
  if (plural) mustBeJoined(dns1035Label, plural, check.at('plural'))
  if (singular) mustBeJoined(dns1035Label, singular, check.at('singular'))
  for (const [field, value] of Object.entries({ kind, listKind })) {
    const errors = value ? dns1035Label(value.toLowerCase()) : []
    if (errors.length > 0) check.at(field).invalid(value, `may have mixed case, but should otherwise match: ${errors.join(',')}`)
  }
  each(shortNames, check.at('shortNames'), (name, item) => mustBeJoined(dns1035Label, name, item))
  if (kind && kind === listKind) check.at('listKind').invalid(listKind, 'kind and listKind may not be the same')
  each(categories, check.at('categories'), (category, item) => mustBeJoined(dns1035Label, category, item))
}

function validateSubresources(subresources: V1CustomResourceSubresources | undefined, check: Check): void {
  const scale = subresources?.scale
  if (scale == null) return
  const place = check.at('scale')
  const under = (field: 'specReplicasPath' | 'statusReplicasPath', parent: string) => {
    const path = scale[field]
    if (!path) place.at(field).required()
    else if (isSimplePath(path, place.at(field)) && !path.startsWith(`${parent}.`)) {
      place.at(field).invalid(path, `should be a json path under ${parent}`)
    }
  }
  under('specReplicasPath', '.spec')
  under('statusReplicasPath', '.status')
  const { labelSelectorPath } = scale
  if (!labelSelectorPath || !isSimplePath(labelSelectorPath, place.at('labelSelectorPath'))) return
  if (!/^\.(spec|status)\./.test(labelSelectorPath)) {
    place.at('labelSelectorPath').invalid(labelSelectorPath, 'should be a json path under either .spec or .status')
  }
}

function isSimplePath(path: string, check: Check): boolean {
  if (path.startsWith('.')) return true
  check.invalid(path, 'must be a simple json path starting with .')
  return false
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

function validateColumn({ name, type, format, jsonPath }: V1CustomResourceColumnDefinition, check: Check): void {
  if (!name) check.at('name').required()
  const types = `must be one of ${columnTypes.join(',')}`
  if (!type) check.at('type').required(types)
  else if (!columnTypes.includes(type)) check.at('type').invalid(type, types)
  if (format && !columnFormats.includes(format)) check.at('format').invalid(format, `must be one of ${columnFormats.join(',')}`)
  if (!jsonPath) check.at('JSONPath').required()
  else isSimplePath(jsonPath, check.at('JSONPath'))
}

const maxSelectableFields = 8
const selectableTypes = ['string', 'boolean', 'integer']

function validateSelectableFields(fields: readonly V1SelectableField[], root: V1JSONSchemaProps, check: Check, mayBeMany: boolean): void {
  const seen = new Set<string>()
  each(fields, check, ({ jsonPath = '' }, item) => {
    const place = item.at('jsonPath')
    if (jsonPath === '') {
      place.required()
      return
    }
    try {
      const { segments, schema } = followPath(jsonPath, root, { mayIndex: false })
      if (segments[0] === 'metadata') place.invalid(jsonPath, 'must not point to fields in metadata')
      if (!selectableTypes.includes(schema?.type ?? '')) {
        place.invalid(
          jsonPath,
          'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        )
      }
      const path = segments.join('.')
      if (seen.has(path)) place.duplicate(jsonPath)
      seen.add(path)
    } catch (error) {
      place.invalid(jsonPath, `is an invalid path: ${error instanceof Error ? error.message : String(error)}`)
    }
  })
  if (seen.size > maxSelectableFields && !mayBeMany) check.tooMany(seen.size, maxSelectableFields)
}
