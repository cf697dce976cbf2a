/** JSON values in error messages, as Go's fmt prints them. */
import { isObject, type JsonValue } from './json-value.ts'

/** `%v`: `map[a:1 b:[x y]]`. */
export function goPrint(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (typeof value === 'number') return goNumber(value)
  if (Array.isArray(value)) return `[${value.map(goPrint).join(' ')}]`
  if (!isObject(value)) return String(value)
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goPrint(value[key])}`)
  return `map[${fields.join(' ')}]`
}

/** `%s`, which marks what is no string. */
export function goString(value: JsonValue): string {
  if (typeof value === 'string') return value
  if (value === null) return '%!s(<nil>)'
  if (typeof value === 'object') return goPrint(value)
  return `%!s(${goTypeOf(value)}=${goPrint(value)})`
}

/** `%T` of the value decoded without a schema. */
export function goTypeOf(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'int64'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'
}

/** Shortest form, with an exponent below 1e-4 and from 1e21 on. */
function goNumber(value: number): string {
  const size = Math.abs(value)
  const text = size !== 0 && size < 1e-4 ? value.toExponential() : String(value)
  return text.replace(/e([+-])(\d)$/, 'e$10$2')
}
