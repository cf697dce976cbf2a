/** Errors of a shape that few fields have. */
import { type Check, quoted } from '#api/meta/check.ts'

/** Reported at no field: this is how upstream writes a path that has none. */
export function forbiddenNowhere(detail: string, check: Check<unknown>): void {
  check.errors.push({ type: 'FieldValueForbidden', field: '[]', body: `Forbidden: ${detail}` })
}

export function tooLongNowhere(maxBytes: number, check: Check<unknown>): void {
  check.errors.push({ type: 'FieldValueTooLong', field: '[]', body: `Too long: may not be more than ${maxBytes} bytes` })
}

export function notFoundBecause(name: string, detail: string, check: Check<unknown>): void {
  check.errors.push({ type: 'FieldValueNotFound', field: check.path, body: `Not found: ${quoted(name)}: ${detail}` })
}

/** `shown` is the value as JSON. */
export function duplicateBecause(shown: unknown, detail: string, check: Check<unknown>): void {
  check.errors.push({ type: 'FieldValueDuplicate', field: check.path, body: `Duplicate value: ${JSON.stringify(shown)}: ${detail}` })
}
