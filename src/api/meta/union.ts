import type { Check } from '#api/meta/check.ts'

/** Exactly one of the fields must be set. A union whose set fields were already the stored one's is not validated again. */
export function mustBeOneOf<T extends object>(check: Check<T>, prev: T | undefined, fields: readonly (keyof T & string)[]): void {
  const object = check.value
  const isSet = (of: T, field: keyof T) => of[field] !== undefined && of[field] !== null
  if (prev && fields.every((field) => isSet(prev, field) === isSet(object, field))) return
  const present = fields.filter((field) => isSet(object, field))
  const all = fields.map((field) => `\`${field}\``).join(', ')
  if (present.length === 0) check.invalid(`must specify one of: ${all}`, '')
  else if (present.length > 1) check.invalid(`must specify exactly one of: ${all}`, `{${present.join(', ')}}`)
}
