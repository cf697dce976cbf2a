/**
 * One step of a path through an object, in the text that managedFields use:
 * `f:image` a field, `k:{"name":"c"}` an item of a list by its keys, `v:"x"` an item of a set, `i:0` an item by its place.
 */
import { quoted } from '#api/meta/check.ts'
import { isObject, type JsonObject, type JsonValue, setField } from '#api/meta/patch/json-value.ts'
import { longestRemembered } from '#base/remembered.ts'
import { keepsSpareMemory } from '#base/spare-memory.ts'

export type PathElement = string

/** Made once for names that come again and again, as labels do: texts that are keys of objects cost more than their making. */
export function fieldElement(name: string): PathElement {
  if (name.length > longestRemembered) return `f:${name}`
  let element = fieldElements.get(name)
  if (element === undefined) {
    if (fieldElements.size >= maxRemembered) fieldElements.clear()
    element = `f:${name}`
    fieldElements.set(name, element)
  }
  return element
}

const maxRemembered = 10_000
const fieldElements = new Map<string, PathElement>()

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
  for (const key of Object.keys(value).sort(compareTexts)) setField(sorted, key, sortedKeys(value[key] ?? null))
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
      const sorted = Object.keys(keys).sort(compareTexts)
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
export type ReadElement = {
  readonly element: PathElement
  readonly kind: number
  readonly content: JsonValue
  /** Of items that are known by one key which is a text, as most are. */
  readonly only: { readonly name: string; readonly text: string } | undefined
}

export function readElement(element: PathElement): ReadElement {
  let read = readElements.get(element)
  if (read === undefined) {
    const kind = kinds.indexOf(element[0] ?? '')
    const rest = element.slice(2)
    const content = kind === 0 ? rest : (JSON.parse(rest) as JsonValue)
    read = { element, kind, content, only: kind === 1 ? onlyKeyOf(content) : undefined }
    if (element.length <= longestRemembered) {
      if (readElements.size >= maxRemembered) readElements.clear()
      readElements.set(element, read)
    }
  }
  return read
}

const readElements = new Map<PathElement, ReadElement>()

keepsSpareMemory(() => {
  fieldElements.clear()
  readElements.clear()
})

/** Fields come first, then items by key, by value, by place; each kind in its own order. */
export function compareElements(left: ReadElement, right: ReadElement): number {
  if (left.kind !== right.kind) return left.kind - right.kind
  if (left.only !== undefined && right.only !== undefined) {
    return compareTexts(left.only.name, right.only.name) || compareTexts(left.only.text, right.only.text)
  }
  const [ours, theirs] = [left.content, right.content]
  return left.kind === 1 && isObject(ours) && isObject(theirs) ? compareKeys(ours, theirs) : compareValues(ours, theirs)
}

const kinds = 'fkvi'

function onlyKeyOf(content: JsonValue): ReadElement['only'] {
  const keys = isObject(content) ? Object.entries(content) : []
  const [name, text] = keys[0] ?? []
  return keys.length === 1 && name !== undefined && typeof text === 'string' ? { name, text } : undefined
}

function compareKeys(left: JsonObject, right: JsonObject): number {
  const [ours, theirs] = [Object.keys(left), Object.keys(right)]
  for (let index = 0; index < Math.min(ours.length, theirs.length); index++) {
    const [a, b] = [ours[index] ?? '', theirs[index] ?? '']
    const order = compareTexts(a, b) || compareValues(left[a] ?? null, right[b] ?? null)
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
  return compareTexts(
    String(typeof left === 'string' ? left : JSON.stringify(left)),
    String(typeof right === 'string' ? right : JSON.stringify(right)),
  )
}

function rank(value: JsonValue): number {
  if (value === null) return 5
  if (Array.isArray(value)) return 3
  return ['number', 'string', 'boolean', '', 'object'].indexOf(typeof value)
}

/** As Go orders texts, but for characters beyond the basic plane. */
export function compareTexts(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1
}

/** As error messages show it: `.image`, `[name="c"]`, `[="x"]`, `[0]`. */
function printedElement(element: PathElement): string {
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
