/** Whether an applied configuration has the shape its schema asks for: ownership cannot be told of what has another. */
import { goPrint, goTypeOf } from '#api/meta/patch/go-print.ts'
import type { JsonObject, JsonValue } from '#api/meta/patch/json-value.ts'
import { itemElement, type ListForm, type MapForm, type MergeType, type Scalar } from './merge-type.ts'
import { fieldElement, type PathElement, printedPath } from './path-element.ts'

/** What is wrong, in upstream's words; undefined if nothing is. Unless `duplicates` are let in, items must differ in their keys. */
export function typeErrors(object: JsonObject, type: MergeType, { duplicates = false } = {}): string | undefined {
  const check = new TypeCheck(duplicates)
  check.value(object, type)
  const { errors } = check
  return errors.length < 2 ? errors[0] : ['errors:', ...errors.map((error) => `  ${error}`)].join('\n')
}

class TypeCheck {
  readonly errors: string[] = []
  readonly #path: PathElement[] = []
  readonly #duplicates: boolean

  constructor(duplicates: boolean) {
    this.#duplicates = duplicates
  }

  #report(message: string): void {
    const path = printedPath(this.#path)
    this.errors.push(path === '' ? message : `${path}: ${message}`)
  }

  value(value: JsonValue, type: MergeType): void {
    const form = type.formOf(value)
    if (value === null) return
    if (form === undefined) this.#scalar(value, type.scalar ?? 'untyped')
    else if (form.kind === 'map') {
      if (typeof value === 'object' && !Array.isArray(value)) this.#map(value, form)
      else this.#report(`expected map, got ${goValue(value)}`)
    } else if (Array.isArray(value)) this.#list(value, form)
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

  #map(map: JsonObject, form: MapForm): void {
    for (const key in map) {
      const value = map[key]
      if (value === undefined) continue
      const field = form.fields.get(key)
      const type = field === undefined ? form.element : field.type
      this.#path.push(field === undefined ? fieldElement(key) : field.element)
      if (type === undefined) this.#report('field not declared in schema')
      else this.value(value, type)
      this.#path.pop()
      // Where a field is unknown the rest of the object is not looked at.
      if (type === undefined) return
    }
  }

  #list(items: readonly JsonValue[], form: ListForm): void {
    const seen = new Set<PathElement>()
    for (let index = 0; index < items.length; index++) {
      const item = items[index] as JsonValue
      let element: PathElement = `i:${index}`
      if (!form.atomic) {
        try {
          element = itemElement(form, item)
        } catch (error) {
          this.#report(`element ${index}: ${(error as Error).message}`)
          return
        }
        if (seen.has(element) && !this.#duplicates) this.#report(`duplicate entries for key ${printedPath([element])}`)
        seen.add(element)
      }
      this.#path.push(element)
      this.value(item, form.element)
      this.#path.pop()
    }
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
