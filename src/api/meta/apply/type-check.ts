/** Whether an applied configuration has the shape its schema asks for: ownership cannot be told of what has another. */
import { goPrint, goTypeOf } from '#api/meta/patch/go-print.ts'
import type { JsonObject, JsonValue } from '#api/meta/patch/json-value.ts'
import { atOnce, type Steps } from '#base/steps.ts'
import { itemElement, type ListForm, type MapForm, type MergeType, type Scalar } from './merge-type.ts'
import { fieldElement, type PathElement, printedPath } from './path-element.ts'

/** What is wrong, in upstream's words; undefined if nothing is. Unless `duplicates` are let in, items must differ in their keys. */
export function typeErrors(object: JsonObject, type: MergeType, options: { duplicates?: boolean } = {}): string | undefined {
  return atOnce(typeErrorsInSteps(object, type, options))
}

/** The same, in steps of some hundred items where lists are long. */
export function* typeErrorsInSteps(object: JsonObject, type: MergeType, { duplicates = false } = {}): Steps<string | undefined> {
  const check = new TypeCheck(duplicates)
  yield* check.inSteps(object, type)
  const { errors } = check
  return errors.length < 2 ? errors[0] : ['errors:', ...errors.map((error) => `  ${error}`)].join('\n')
}

/** Whatever lies in longer lists is looked at without further steps. */
const shortList = 16
const stepItems = 1000

/** As many as an answer to an invalid object holds. */
const maxErrors = 1000

class TypeCheck {
  readonly errors: string[] = []
  readonly #path: PathElement[] = []
  readonly #duplicates: boolean

  constructor(duplicates: boolean) {
    this.#duplicates = duplicates
  }

  #report(message: string): void {
    if (this.#isFull) return
    const path = printedPath(this.#path)
    this.errors.push(path === '' ? message : `${path}: ${message}`)
    if (this.#isFull) this.errors.push('further errors are left out')
  }

  get #isFull(): boolean {
    return this.errors.length >= maxErrors
  }

  *inSteps(value: JsonValue, type: MergeType): Steps<void> {
    const form = type.formOf(value)
    if (form?.kind === 'map' && typeof value === 'object' && value !== null && !Array.isArray(value))
      yield* this.#fieldsInSteps(value, form)
    else if (form?.kind === 'list' && Array.isArray(value)) yield* this.#itemsInSteps(value, form)
    else this.value(value, type)
  }

  value(value: JsonValue, type: MergeType): void {
    const form = type.formOf(value)
    if (value === null) return
    if (form === undefined) this.#scalar(value, type.scalar ?? 'untyped')
    else if (form.kind === 'map') {
      if (typeof value === 'object' && !Array.isArray(value)) this.#fields(value, form)
      else this.#report(`expected map, got ${goValue(value)}`)
    } else if (Array.isArray(value)) this.#items(value, form)
    else this.#report(`expected list, got ${goValue(value)}`)
  }

  #scalar(value: JsonValue, scalar: Scalar): void {
    const isScalar = typeof value !== 'object'
    if (scalar === 'numeric' && typeof value !== 'number' && typeof value !== 'bigint')
      this.#report(`expected numeric (int or float), got ${goTypeOf(value)}`)
    else if (scalar === 'string' && typeof value !== 'string') {
      this.#report(`expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`)
    } else if (scalar === 'boolean' && typeof value !== 'boolean') this.#report(`expected boolean, got ${goValue(value)}`)
    else if (scalar === 'untyped' && !isScalar) this.#report(`expected any scalar, got ${goValue(value)}`)
  }

  #fields(map: JsonObject, form: MapForm): void {
    for (const key in map) {
      const value = map[key]
      if (value === undefined) continue
      const type = this.#enterField(key, form)
      if (type === undefined) return
      this.value(value, type)
      this.#path.pop()
    }
  }

  *#fieldsInSteps(map: JsonObject, form: MapForm): Steps<void> {
    for (const key in map) {
      const value = map[key]
      if (value === undefined) continue
      const type = this.#enterField(key, form)
      if (type === undefined) return
      if (typeof value === 'object') yield* this.inSteps(value, type)
      else this.value(value, type)
      this.#path.pop()
    }
  }

  /** Undefined where a field is unknown: the rest of the object is not looked at. */
  #enterField(key: string, form: MapForm): MergeType | undefined {
    const field = form.fields.get(key)
    const type = field === undefined ? form.element : field.type
    this.#path.push(field === undefined ? fieldElement(key) : field.element)
    if (type !== undefined) return type
    this.#report('field not declared in schema')
    this.#path.pop()
    return undefined
  }

  #items(items: readonly JsonValue[], form: ListForm): void {
    const seen = new Set<PathElement>()
    for (let index = 0; index < items.length && !this.#isFull; index++) {
      const item = items[index] as JsonValue
      if (!this.#enterItem(item, index, form, seen)) return
      this.value(item, form.element)
      this.#path.pop()
    }
  }

  *#itemsInSteps(items: readonly JsonValue[], form: ListForm): Steps<void> {
    const seen = new Set<PathElement>()
    const isShort = items.length <= shortList
    for (let index = 0; index < items.length && !this.#isFull; index++) {
      const item = items[index] as JsonValue
      if (!this.#enterItem(item, index, form, seen)) return
      if (isShort) yield* this.inSteps(item, form.element)
      else this.value(item, form.element)
      this.#path.pop()
      if (index % stepItems === stepItems - 1) yield
    }
  }

  /** False where an item has no keys: the rest of the list is not looked at. */
  #enterItem(item: JsonValue, index: number, form: ListForm, seen: Set<PathElement>): boolean {
    let element: PathElement = `i:${index}`
    if (!form.atomic) {
      try {
        element = itemElement(form, item)
      } catch (error) {
        this.#report(`element ${index}: ${(error as Error).message}`)
        return false
      }
      if (seen.has(element) && !this.#duplicates) this.#report(`duplicate entries for key ${printedPath([element])}`)
      seen.add(element)
    }
    this.#path.push(element)
    return true
  }
}

/** Go prints the wrapper it keeps values in. */
function goValue(value: JsonValue): string {
  return `&{${goPrint(value)}}`
}

/** Go's `%#v`. */
function goSyntax(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (typeof value !== 'object' || value === null) return value === null ? 'interface {}(nil)' : String(value)
  const fields = Object.keys(value).sort()
  return `map[string]interface {}{${fields.map((key) => `${JSON.stringify(key)}:${goSyntax(value[key] ?? null)}`).join(', ')}}`
}
