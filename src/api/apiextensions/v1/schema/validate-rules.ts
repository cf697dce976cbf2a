/** Where the CEL rules of schemas are judged. */
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'

export type StoredRules = {
  /** Expressions the stored definition already has may use what newer ones may not. */
  expressions: ReadonlySet<string>
  /** A schema that an update leaves alone may keep rules that cost too much. */
  isUnchanged: boolean
}

/**
 * Reports rules that do not compile, have another type than bool, or cost too much; `check` stands at the root schema.
 * The schema is structural and sound. Expressions are taken for texts: every one passes.
 */
export function validateRules(_schema: V1JSONSchemaProps, _check: Check, _stored: StoredRules): void {}
