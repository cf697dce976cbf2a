/** Errors of a shape that few fields have. */
import { type Check, cut, quoted } from '#api/meta/check.ts'

/** Reported at no field: this is how upstream writes a path that has none. */
export function forbiddenNowhere(detail: string, check: Check<unknown>): void {
  check.reportAs('FieldValueForbidden', () => `: ${detail}`, '[]')
}

export function tooLongNowhere(maxBytes: number, check: Check<unknown>): void {
  check.reportAs('FieldValueTooLong', () => `: may not be more than ${maxBytes} bytes`, '[]')
}

export function notFoundBecause(name: string, detail: () => string, check: Check<unknown>): void {
  check.reportAs('FieldValueNotFound', () => `: ${cut(quoted(name))}: ${cut(detail())}`)
}

/** `shown` is the value as JSON. */
export function duplicateBecause(shown: () => unknown, detail: string, check: Check<unknown>): void {
  check.reportAs('FieldValueDuplicate', () => `: ${cut(JSON.stringify(shown()))}: ${detail}`)
}
