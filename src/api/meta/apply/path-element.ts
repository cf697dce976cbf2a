/**
 * One step of a path through an object, in the text that managedFields use:
 * `f:image` a field, `k:{"name":"c"}` an item of a list by its keys, `v:"x"` an item of a set, `i:0` an item by its place.
 */
import { quoted } from '#api/meta/check.ts'
import { isObject, type JsonObject, type JsonValue, setField } from '#api/meta/patch/json-value.ts'

export type PathElement = string

export function fieldElement(name: string): PathElement {
  return `f:${name}`
}

export function valueElement(value: JsonValue): PathElement {
  return `v:${goJson(value)}`
}

/** `keys` sorted by name, without those that the item lacks. */
export function keyElement(keys: readonly (readonly [name: string, value: JsonValue])[]): PathElement {
  return `k:{${keys.map(([name, value]) => `${JSON.stringify(name)}:${goJson(value)}`).join(',')}}`
}

/** JSON as Go writes it: keys sorted, and what HTML would trip over escaped. */
export function goJson(value: JsonValue): string {
  if (typeof value === 'string' && plain.test(value)) return `"${value}"`
  return JSON.stringify(sortedKeys(value)).replace(/[<>&\u2028\u2029]/g, escaped)
}

const plain = /^[\w .:/*+=@-]*$/

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function sortedKeys(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sortedKeys)
  if (!isObject(value)) return value
  const sorted: JsonObject = {}
  for (const key of Object.keys(value).sort(inBytes)) setField(sorted, key, sortedKeys(value[key] ?? null))
  return sorted
}

/** The canonical text of an element that a client wrote; undefined for kinds of elements nobody knows. Throws on the malformed. */
export function canonicalElement(text: string): PathElement | undefined {
  if (text.length < 2) throw new Error('key must be 2 characters long:')
  if (text[1] !== ':') throw new Error(`missing colon: ${text}`)
  switch (text[0]) {
    case 'f':
      return text
    case 'k': {
      const keys: unknown = JSON.parse(text.slice(2))
      if (!isObject(keys)) throw new Error(`expected an object: ${text}`)
      const sorted = Object.keys(keys).sort(inBytes)
      return keyElement(sorted.map((name) => [name, keys[name] ?? null]))
    }
    case 'v':
      return valueElement(JSON.parse(text.slice(2)) as JsonValue)
    case 'i': {
      if (!/^[+-]?\d+$/.test(text.slice(2))) throw new Error(`expected an integer: ${text}`)
      return `i:${Number(text.slice(2))}`
    }
    default:
      return undefined
  }
}

/** An element with its content read, for comparing it many times. */
export type ReadElement = { readonly element: PathElement; readonly kind: number; readonly content: JsonValue }

export function readElement(element: PathElement): ReadElement {
  const kind = kinds.indexOf(element[0] ?? '')
  const rest = element.slice(2)
  return { element, kind, content: kind === 0 ? rest : (JSON.parse(rest) as JsonValue) }
}

/** Fields come first, then items by key, by value, by place; each kind in its own order. */
export function compareElements(left: ReadElement, right: ReadElement): number {
  if (left.kind !== right.kind) return left.kind - right.kind
  const [ours, theirs] = [left.content, right.content]
  return left.kind === 1 && isObject(ours) && isObject(theirs) ? compareKeys(ours, theirs) : compareValues(ours, theirs)
}

const kinds = 'fkvi'

function compareKeys(left: JsonObject, right: JsonObject): number {
  const [ours, theirs] = [Object.keys(left), Object.keys(right)]
  for (let index = 0; index < Math.min(ours.length, theirs.length); index++) {
    const [a, b] = [ours[index] ?? '', theirs[index] ?? '']
    const order = inBytes(a, b) || compareValues(left[a] ?? null, right[b] ?? null)
    if (order !== 0) return order
  }
  return ours.length - theirs.length
}

/** Numbers, then texts, booleans, lists, objects, null. */
function compareValues(left: JsonValue, right: JsonValue): number {
  const [a, b] = [rank(left), rank(right)]
  if (a !== b) return a - b
  if (typeof left === 'number' && typeof right === 'number') return left - right
  if (typeof left === 'boolean') return Number(left) - Number(right)
  return inBytes(
    String(typeof left === 'string' ? left : JSON.stringify(left)),
    String(typeof right === 'string' ? right : JSON.stringify(right)),
  )
}

function rank(value: JsonValue): number {
  if (value === null) return 5
  if (Array.isArray(value)) return 3
  return ['number', 'string', 'boolean', '', 'object'].indexOf(typeof value)
}

/** The order of UTF-8, in which Go compares. It differs from that of UTF-16 only where surrogates meet what lies above them. */
export function inBytes(left: string, right: string): number {
  if (left === right) return 0
  if (high.test(left) && high.test(right)) return Buffer.compare(Buffer.from(left), Buffer.from(right))
  return left < right ? -1 : 1
}

const high = /[\ud800-\uffff]/

/** As error messages show it: `.image`, `[name="c"]`, `[="x"]`, `[0]`. */
export function printedElement(element: PathElement): string {
  const rest = element.slice(2)
  switch (element[0]) {
    case 'f':
      return `.${rest}`
    case 'i':
      return `[${rest}]`
    case 'v':
      return `[=${printedValue(JSON.parse(rest) as JsonValue)}]`
    default: {
      const keys = JSON.parse(rest) as JsonObject
      return `[${Object.entries(keys)
        .map(([name, value]) => `${name}=${printedValue(value)}`)
        .join(',')}]`
    }
  }
}

export function printedPath(path: readonly PathElement[]): string {
  return path.map(printedElement).join('')
}

function printedValue(value: JsonValue): string {
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return `[${value.map(printedValue).join(',')}]`
  if (!isObject(value)) return String(value)
  return Object.entries(value)
    .map(([name, field]) => `${name}=${printedValue(field)}`)
    .join('')
}
