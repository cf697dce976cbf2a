/** Versions and schemas as upstream's error messages quote them: Go field names, every field, null for what is unset. */
import { isSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1CustomResourceDefinitionVersion, V1JSONSchemaProps, V1ValidationRule } from '#api/apiextensions/v1/types.gen.ts'

type Shown = Record<string, unknown>

const orNull = <T>(value: T | undefined | null, shown: (value: T) => unknown): unknown => (value == null ? null : shown(value))
const each = <T>(list: readonly T[] | undefined | null, shown: (value: T) => unknown): unknown => orNull(list, (all) => all.map(shown))
const byName = <T>(map: Record<string, T> | undefined, shown: (value: T) => unknown): unknown =>
  orNull(map, (all) =>
    Object.fromEntries(
      Object.keys(all)
        .sort()
        .map((name) => [name, shown(all[name] as T)]),
    ),
  )

export function quotedVersions(versions: readonly V1CustomResourceDefinitionVersion[] | undefined): unknown {
  return each(versions, (version) => ({
    Name: version.name ?? '',
    Served: version.served ?? false,
    Storage: version.storage ?? false,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: orNull(version.schema, ({ openAPIV3Schema }) => ({ OpenAPIV3Schema: orNull(openAPIV3Schema, quotedSchema) })),
    Subresources: orNull(version.subresources, ({ status, scale }) => ({
      Status: orNull(status, () => ({})),
      Scale: orNull(scale, ({ specReplicasPath, statusReplicasPath, labelSelectorPath }) => ({
        SpecReplicasPath: specReplicasPath ?? '',
        StatusReplicasPath: statusReplicasPath ?? '',
        LabelSelectorPath: labelSelectorPath ?? null,
      })),
    })),
    AdditionalPrinterColumns: each(version.additionalPrinterColumns, (column) => ({
      Name: column.name ?? '',
      Type: column.type ?? '',
      Format: column.format ?? '',
      Description: column.description ?? '',
      Priority: column.priority ?? 0,
      JSONPath: column.jsonPath ?? '',
    })),
    SelectableFields: each(version.selectableFields, ({ jsonPath }) => ({ JSONPath: jsonPath ?? '' })),
  }))
}

export function quotedSchema(schema: V1JSONSchemaProps): Shown {
  const single = (nested: V1JSONSchemaProps | undefined) => orNull(nested, quotedSchema)
  const schemaOrBool = (value: V1JSONSchemaProps | boolean | undefined) =>
    orNull(value, (given) => (isSchema(given) ? { Allows: true, Schema: quotedSchema(given) } : { Allows: given, Schema: null }))
  return {
    ID: schema.id ?? '',
    Schema: schema.$schema ?? '',
    Ref: schema.$ref ?? null,
    Description: schema.description ?? '',
    Type: schema.type ?? '',
    Nullable: schema.nullable ?? false,
    Format: schema.format ?? '',
    Title: schema.title ?? '',
    Default: schema.default ?? null,
    Maximum: schema.maximum ?? null,
    ExclusiveMaximum: schema.exclusiveMaximum ?? false,
    Minimum: schema.minimum ?? null,
    ExclusiveMinimum: schema.exclusiveMinimum ?? false,
    MaxLength: schema.maxLength ?? null,
    MinLength: schema.minLength ?? null,
    Pattern: schema.pattern ?? '',
    MaxItems: schema.maxItems ?? null,
    MinItems: schema.minItems ?? null,
    UniqueItems: schema.uniqueItems ?? false,
    MultipleOf: schema.multipleOf ?? null,
    Enum: schema.enum ?? null,
    MaxProperties: schema.maxProperties ?? null,
    MinProperties: schema.minProperties ?? null,
    Required: schema.required ?? null,
    Items: orNull(schema.items, (items) =>
      Array.isArray(items) ? { Schema: null, JSONSchemas: items.map(quotedSchema) } : { Schema: quotedSchema(items), JSONSchemas: null },
    ),
    AllOf: each(schema.allOf, quotedSchema),
    OneOf: each(schema.oneOf, quotedSchema),
    AnyOf: each(schema.anyOf, quotedSchema),
    Not: single(schema.not),
    Properties: byName(schema.properties, quotedSchema),
    AdditionalProperties: schemaOrBool(schema.additionalProperties),
    PatternProperties: byName(schema.patternProperties, quotedSchema),
    Dependencies: byName(schema.dependencies, (value) =>
      isSchema(value) ? { Schema: quotedSchema(value), Property: null } : { Schema: null, Property: value },
    ),
    AdditionalItems: schemaOrBool(schema.additionalItems),
    Definitions: byName(schema.definitions, quotedSchema),
    ExternalDocs: orNull(schema.externalDocs, ({ description = '', url = '' }) => ({ Description: description, URL: url })),
    Example: schema.example ?? null,
    XPreserveUnknownFields: schema['x-kubernetes-preserve-unknown-fields'] ?? null,
    XEmbeddedResource: schema['x-kubernetes-embedded-resource'] ?? false,
    XIntOrString: schema['x-kubernetes-int-or-string'] ?? false,
    XListMapKeys: schema['x-kubernetes-list-map-keys'] ?? null,
    XListType: schema['x-kubernetes-list-type'] ?? null,
    XMapType: schema['x-kubernetes-map-type'] ?? null,
    XValidations: each(schema['x-kubernetes-validations'], quotedRule),
  }
}

function quotedRule(rule: V1ValidationRule): Shown {
  return {
    Rule: rule.rule ?? '',
    Message: rule.message ?? '',
    MessageExpression: rule.messageExpression ?? '',
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? '',
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  }
}
