/** JSON Patch (RFC 6902) with the habits of the library upstream uses: `-1` counts from the end, `replace` may add. */

import { quoted } from '#api/meta/check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { errorMessage } from '#base/error-message.ts'
import { equalJson, fieldOf, isDeeperThan, isObject, type JsonObject, type JsonValue, maxDepth, setField } from './json-value.ts'
import { PatchError } from './patch-error.ts'

export const maxOperations = 10_000
/** What all `copy` operations of a patch may add to the object together. */
const maxCopiedBytes = 3 * 1024 * 1024
/** List items that insertions and removals may shift, all together: some 25 ms of work. */
const maxShiftedItems = 50_000_000

const missing = 'missing value'
const invalidIndex = 'invalid index referenced'

type Container = JsonObject | JsonValue[]
type Place = { container: Container; key: string }

/** Changes `document`, which must be private; nothing of the operations is shared with the result. */
export function applyJsonPatch(document: JsonObject, operations: readonly JsonValue[]): JsonObject {
  if (operations.length > maxOperations) {
    throw new PatchError('tooLarge', `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`)
  }
  const patched = new PatchedDocument(document)
  for (const operation of operations) patched.apply(isObject(operation) ? operation : {})
  const { root } = patched
  if (!isObject(root)) throw refused('the patched document is not an object')
  // Moves can nest what they move thousands of levels deep.
  if (isDeeperThan(root, maxDepth)) throw refused(`the patched document nests deeper than ${maxDepth} levels`)
  return root
}

class PatchedDocument {
  root: Container
  #copiedBytes = 0
  #shiftedItems = 0

  constructor(root: Container) {
    this.root = root
  }

  apply(operation: JsonObject): void {
    const kind = fieldOf(operation, 'op')
    if (kind === 'add') this.#add(operation)
    else if (kind === 'remove') this.#remove(operation)
    else if (kind === 'replace') this.#replace(operation)
    else if (kind === 'move') this.#move(operation)
    else if (kind === 'copy') this.#copy(operation)
    else if (kind === 'test') this.#test(operation)
    else throw refused(`Unexpected kind: ${typeof kind === 'string' ? kind : 'unknown'}`)
  }

  #add(operation: JsonObject): void {
    const path = pathOf(operation, 'path', () => `add operation failed to decode path: ${missing}`)
    const place = this.#place(path)
    if (place === undefined) throw refused(`add operation does not apply: doc is missing path: ${quoted(path)}: ${missing}`)
    inContext(`error in add for path: '${path}'`, () => this.#insert(place, deepCopy(fieldOf(operation, 'value') ?? null)))
  }

  #remove(operation: JsonObject): void {
    const path = pathOf(operation, 'path', () => `remove operation failed to decode path: ${missing}`)
    const place = this.#place(path)
    if (place === undefined) throw refused(`remove operation does not apply: doc is missing path: ${quoted(path)}: ${missing}`)
    inContext(`error in remove for path: '${path}'`, () => this.#take(place))
  }

  #replace(operation: JsonObject): void {
    const path = pathOf(operation, 'path', (why) => `replace operation failed to decode path: ${why}`)
    const value = deepCopy(fieldOf(operation, 'value') ?? null)
    if (path === '') {
      if (typeof value !== 'object' || value === null) throw refused('replace operation value must be object or array')
      this.root = value
      return
    }
    const place = this.#place(path)
    if (place === undefined) throw refused(`replace operation does not apply: doc is missing path: ${path}: ${missing}`)
    const { container, key } = place
    if (Array.isArray(container)) {
      const index = existingIndex(container, key)
      if (typeof index === 'string') throw refused(`replace operation does not apply: doc is missing key: ${path}: ${missing}`)
      container[index] = value
    } else setField(container, key, value)
  }

  #move(operation: JsonObject): void {
    const from = pathOf(operation, 'from', (why) => `move operation failed to decode from: ${why}`)
    const source = this.#place(from)
    if (source === undefined) throw refused(`move operation does not apply: doc is missing from path: ${from}: ${missing}`)
    const value = inContext(`error in move for path: '${source.key}'`, () => this.#take(source))
    const path = pathOf(operation, 'path', (why) => `move operation failed to decode path: ${why}`)
    const place = this.#place(path)
    if (place === undefined) throw refused(`move operation does not apply: doc is missing destination path: ${path}: ${missing}`)
    inContext(`error in move for path: '${path}'`, () => this.#insert(place, value))
  }

  #copy(operation: JsonObject): void {
    const from = pathOf(operation, 'from', (why) => `copy operation failed to decode from: ${why}`)
    const source = this.#place(from)
    if (source === undefined) throw refused(`copy operation does not apply: doc is missing from path: ${from}: ${missing}`)
    const value = inContext(`error in copy for from: '${from}'`, () => valueAt(source)) ?? null
    const path = pathOf(operation, 'path', () => `copy operation failed to decode path: ${missing}`)
    const place = this.#place(path)
    if (place === undefined) throw refused(`copy operation does not apply: doc is missing destination path: ${path}: ${missing}`)
    // A copy into itself deepens the object, and its text is needed for its size: neither may run out of stack.
    if (isDeeperThan(value, maxDepth)) throw refused(`error while performing deep copy: the value nests deeper than ${maxDepth} levels`)
    this.#copiedBytes += Buffer.byteLength(JSON.stringify(value))
    if (this.#copiedBytes > maxCopiedBytes) {
      const size = `the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${maxCopiedBytes}`
      throw refused(`Unable to complete the copy, ${size}`)
    }
    inContext('error while adding value during copy', () => this.#insert(place, deepCopy(value)))
  }

  #test(operation: JsonObject): void {
    const path = pathOf(operation, 'path', (why) => `test operation failed to decode path: ${why}`)
    const expected = fieldOf(operation, 'value') ?? null
    let actual: JsonValue = this.root
    if (path !== '') {
      const place = this.#place(path)
      if (place === undefined) throw refused(`test operation does not apply: is missing path: ${path}: ${missing}`)
      actual = inContext(`error in test for path: '${path}'`, () => valueAt(place)) ?? null
    }
    if (!equalJson(actual, expected)) throw refused(`testing value ${path} failed: test failed`)
  }

  /** Where the pointer leads; undefined if something on the way is missing. What stands before the first slash is not looked at. */
  #place(path: string): Place | undefined {
    let start = path.indexOf('/') + 1
    if (start === 0) return undefined
    let container = this.root
    for (let end = path.indexOf('/', start); end >= 0; end = path.indexOf('/', start)) {
      const next = childOf(container, unescaped(path.slice(start, end)))
      if (typeof next !== 'object' || next === null) return undefined
      container = next
      start = end + 1
    }
    return { container, key: unescaped(path.slice(start)) }
  }

  #insert({ container, key }: Place, value: JsonValue): void {
    if (!Array.isArray(container)) {
      setField(container, key, value)
      return
    }
    if (key === '-') {
      container.push(value)
      return
    }
    const asked = integer(key)
    if (asked === undefined) throw new Error(`value was not a proper array index: '${key}': ${noInteger(key)}`)
    const index = fromEnd(asked, container.length + 1)
    if (index === undefined) throw new Error(outOfBounds(asked))
    this.#shift(container.length - index)
    container.splice(index, 0, value)
  }

  #take({ container, key }: Place): JsonValue {
    if (!Array.isArray(container)) {
      const value = fieldOf(container, key)
      if (value === undefined) throw new Error(`Unable to remove nonexistent key: ${key}: ${missing}`)
      delete container[key]
      return value
    }
    const index = existingIndex(container, key)
    if (typeof index === 'string') throw new Error(index)
    this.#shift(container.length - index)
    return container.splice(index, 1)[0] ?? null
  }

  #shift(items: number): void {
    this.#shiftedItems += items
    if (this.#shiftedItems > maxShiftedItems) {
      throw new PatchError('tooLarge', `The JSON patch moves more than ${maxShiftedItems} list items to other places`)
    }
  }
}

function pathOf(operation: JsonObject, name: 'path' | 'from', message: (why: string) => string): string {
  const path = fieldOf(operation, name)
  if (typeof path === 'string') return path
  throw refused(message(name === 'path' ? `operation missing path field: ${missing}` : `operation, missing from field: ${missing}`))
}

function valueAt({ container, key }: Place): JsonValue | undefined {
  if (!Array.isArray(container)) return fieldOf(container, key)
  const index = existingIndex(container, key)
  if (typeof index === 'string') throw new Error(index)
  return container[index]
}

function childOf(container: Container, key: string): JsonValue | undefined {
  if (!Array.isArray(container)) return fieldOf(container, key)
  const index = existingIndex(container, key)
  return typeof index === 'string' ? undefined : container[index]
}

/** The index of an item that is there, or what is wrong with it. */
function existingIndex(list: readonly JsonValue[], key: string): number | string {
  const asked = integer(key)
  if (asked === undefined) return noInteger(key)
  return fromEnd(asked, list.length) ?? outOfBounds(asked)
}

function fromEnd(index: number, length: number): number | undefined {
  const positive = index < 0 ? index + length : index
  return positive >= 0 && positive < length ? positive : undefined
}

function integer(key: string): number | undefined {
  return /^[+-]?\d+$/.test(key) ? Number(key) : undefined
}

function noInteger(key: string): string {
  return `strconv.Atoi: parsing ${quoted(key)}: invalid syntax`
}

function outOfBounds(index: number): string {
  return `Unable to access invalid index: ${index}: ${invalidIndex}`
}

function unescaped(segment: string): string {
  return segment.includes('~') ? segment.replaceAll('~1', '/').replaceAll('~0', '~') : segment
}

function inContext<T>(context: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    if (error instanceof PatchError) throw error
    throw refused(`${context}: ${errorMessage(error)}`)
  }
}

function refused(message: string): PatchError {
  return new PatchError('unprocessable', message)
}
