/** The schema of one version of a custom kind, made ready for work when the first object comes by. */
import { RuleValidator } from '#api/apiextensions/v1/schema/rule-validator.ts'
import { unsupportedField, validateStructural } from '#api/apiextensions/v1/schema/structural.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { deducedType, type MergeType } from '#api/meta/apply/merge-type.ts'
import { customResourceType, type StructuralSchema } from '#api/meta/apply/open-api-merge-type.ts'
import { Check } from '#api/meta/check.ts'
import { emptyShape, type Shape, shapeOf } from '#api/structural/shape.ts'
import type { Steps } from '#base/steps.ts'

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

  /** What the first object needs to be read, in steps: a large schema takes long. */
  *readying(): Steps<void> {
    if (this.#shape !== undefined) return
    const { schema } = this
    yield
    isStructural(schema)
    yield
    void this.shape
    yield
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

const known = new WeakMap<V1JSONSchemaProps, boolean>()

/** Looked at once: a large schema takes some ten milliseconds. */
export function isStructural(schema: V1JSONSchemaProps): boolean {
  let is = known.get(schema)
  if (is === undefined) {
    is = unsupportedField(schema) === undefined && !hasMistakes(schema)
    known.set(schema, is)
  }
  return is
}

function hasMistakes(schema: V1JSONSchemaProps): boolean {
  const check = new Check(schema)
  validateStructural(check)
  return check.failed
}
