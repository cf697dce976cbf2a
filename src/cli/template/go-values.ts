/** Values of JSON as Go prints them. */

/** Go's maps have no order of their own and are always shown by key. */
export function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys)
  if (typeof value !== 'object' || value === null) return value
  const sorted: Record<string, unknown> = {}
  for (const key of Object.keys(value).sort()) sorted[key] = sortedKeys((value as Record<string, unknown>)[key])
  return sorted
}

/** Also of booleans and bigints. */
export function goNumber(value: unknown): string {
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value)
  const size = Math.abs(value)
  if (size >= 1e-4 && size < 1e21) return String(value)
  return value.toExponential().replace(/e([-+])(\d)$/, 'e$10$2')
}

/** A number that a template itself has, which Go counts as another type than those of objects. */
export class TemplateNumber {
  readonly type: 'int' | 'float64'
  readonly value: number

  constructor(type: 'int' | 'float64', value: number) {
    this.type = type
    this.value = value
  }
}

/** The number that a value is, wherever it comes from. */
export const numberOf = (value: unknown): unknown => (value instanceof TemplateNumber ? value.value : value)

/** As `fmt.Print` shows it: `map[a:1 b:[x y]]`. */
export function goText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (typeof value === 'string') return value
  if (value instanceof TemplateNumber) return goNumber(value.value)
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`
  if (typeof value === 'object') {
    const map = value as Record<string, unknown>
    return `map[${Object.keys(map)
      .sort()
      .map((key) => `${key}:${goText(map[key])}`)
      .join(' ')}]`
  }
  return goNumber(value)
}

/** As `%#v` shows it: `map[string]interface {}{"a":1}`. */
export function goSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)'
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof TemplateNumber) return goNumber(value.value)
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (typeof value !== 'object') return goNumber(value)
  const map = value as Record<string, unknown>
  const entries = Object.keys(map)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${goSyntax(map[key])}`)
  return `map[string]interface {}{${entries.join(', ')}}`
}

/** What Go calls the type of a value of JSON. */
export function goTypeName(value: unknown): string {
  if (value === null || value === undefined) return 'nil'
  if (value instanceof TemplateNumber) return value.type
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'int64'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'
}
