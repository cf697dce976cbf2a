import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'

/**
 * Whether the value is a text, number or boolean that fits a schema which asks for little more than its type: nearly all values
 * of nearly all objects are. False says nothing: the value may fit all the same.
 */
export function isPlainlyValid(value: unknown, schema: V1JSONSchemaProps): boolean {
  switch (typeof value) {
    case 'string':
      return schema.type === 'string' && !asksForMore(schema) && hasPlainLength(value, schema)
    case 'number':
      if (schema.type !== 'number' && !(schema.type === 'integer' && Number.isSafeInteger(value))) return false
      return !asksForMore(schema) && schema.multipleOf == null && isInRange(value, schema)
    case 'boolean':
      return schema.type === 'boolean' && !asksForMore(schema)
    default:
      return false
  }
}

function asksForMore(schema: V1JSONSchemaProps): boolean {
  return (
    !!schema.format ||
    schema.enum !== undefined ||
    schema.allOf !== undefined ||
    schema.anyOf !== undefined ||
    schema.oneOf !== undefined ||
    schema.not !== undefined
  )
}

/** Characters are at most as many as units of UTF-16, and at least half as many. */
function hasPlainLength({ length }: string, { maxLength, minLength, pattern }: V1JSONSchemaProps): boolean {
  return !pattern && (maxLength == null || length <= maxLength) && (minLength == null || length >= 2 * minLength)
}

function isInRange(value: number, { type, minimum, maximum, exclusiveMinimum, exclusiveMaximum }: V1JSONSchemaProps): boolean {
  if (exclusiveMinimum || exclusiveMaximum) return false
  // A bound that is no integer is a fault of its own, where values are.
  const isPlain = (bound: number) => type === 'number' || Number.isSafeInteger(bound)
  return (minimum == null || (isPlain(minimum) && value >= minimum)) && (maximum == null || (isPlain(maximum) && value <= maximum))
}
