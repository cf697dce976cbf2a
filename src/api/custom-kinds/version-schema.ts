/** The schema of one version of a custom kind, made ready for work when the first object comes by. */
import { RuleValidator } from '#api/apiextensions/v1/schema/rule-validator.ts'
import { unsupportedField, validateStructural } from '#api/apiextensions/v1/schema/structural.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { deducedType, type MergeType } from '#api/meta/apply/merge-type.ts'
import { customResourceType, type StructuralSchema } from '#api/meta/apply/open-api-merge-type.ts'
import { Check } from '#api/meta/check.ts'
import { emptyShape, type Shape, shapeOf } from '#api/structural/shape.ts'

export class VersionSchema {
  readonly #load: () => V1JSONSchemaProps | undefined
  /** Old definitions may keep fields that their schema does not name, and need not have a schema that tells all. */
  readonly keepsUnknown: boolean
  #schema: V1JSONSchemaProps | undefined
  #shape: Shape | undefined
  #mergeType: MergeType | undefined
  #rules: { readonly validator: RuleValidator | undefined } | undefined

  /** `load` gives the schema anew each time; it is kept from the first use on. */
  constructor(load: () => V1JSONSchemaProps | undefined, keepsUnknown: boolean) {
    this.#load = load
    this.keepsUnknown = keepsUnknown
  }

  get schema(): V1JSONSchemaProps {
    this.#schema ??= this.#load() ?? {}
    return this.#schema
  }

  /** Nothing is known of an object whose schema is not structural: then nothing is filled in. */
  get shape(): Shape {
    this.#shape ??= isStructural(this.schema) ? shapeOf(this.schema) : emptyShape
    return this.#shape
  }

  get mergeType(): MergeType {
    this.#mergeType ??=
      this.schema.type === undefined && this.schema.properties === undefined
        ? deducedType
        : customResourceType(this.schema as StructuralSchema, { preserveUnknownFields: this.keepsUnknown })
    return this.#mergeType
  }

  get rules(): RuleValidator | undefined {
    this.#rules ??= { validator: isStructural(this.schema) ? RuleValidator.of(this.schema) : undefined }
    return this.#rules.validator
  }
}

export function isStructural(schema: V1JSONSchemaProps): boolean {
  if (unsupportedField(schema) !== undefined) return false
  const check = new Check(schema)
  validateStructural(check)
  return !check.failed
}
