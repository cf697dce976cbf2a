/** Where the CEL rules of schemas are validated. */
import { createRequire } from 'node:module'
import { someSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import type { Steps } from '#base/steps.ts'

export type StoredRules = {
  /** Expressions the stored definition already has may use what newer ones may not. */
  expressions: ReadonlySet<string>
  /** A schema that an update leaves alone may keep rules that cost too much. */
  isUnchanged: boolean
}

export const hasOwnRules = (schema: V1JSONSchemaProps): boolean => (schema['x-kubernetes-validations']?.length ?? 0) > 0
/** Whether there are any, here or inside. */
const hasRules = (schema: V1JSONSchemaProps): boolean => someSchema(schema, hasOwnRules)

/**
 * Reports rules that do not compile, have another type than bool, or cost too much; `check` stands at the root schema.
 * The schema is structural and sound. In steps, one for each rule. What validates them is loaded with the first rule.
 */
export function* validateRules(check: Check<V1JSONSchemaProps>, stored: StoredRules): Steps<void> {
  const schema = check.value
  if (!hasRules(schema)) return
  const load = createRequire(import.meta.url)
  const { checkRules } = load('#api/apiextensions/v1/schema/check-rules.ts') as typeof import('#api/apiextensions/v1/schema/check-rules.ts')
  yield* checkRules(check, stored)
}
