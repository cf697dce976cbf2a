/** Fields of an object by a simple path (`.spec.replicas`), in upstream's words where they are not what they should be. */
import { goPrint, goTypeOf } from '#api/meta/patch/go-print.ts'
import type { JsonValue } from '#api/meta/patch/json-value.ts'
import { type Fields, isFields } from '#api/structural/shape.ts'

const segmentsOf = (path: string): string[] => path.replace(/^\./, '').split('.')

/** What lies at the path; undefined where there is nothing. `error` where something on the way is no object. */
function valueAt(object: unknown, path: string): { value?: unknown; error?: string } {
  const segments = segmentsOf(path)
  let value: unknown = object
  for (const [index, segment] of segments.entries()) {
    if (value === null || value === undefined) return {}
    if (!isFields(value)) {
      const at = segments.slice(0, index + 1).join('.')
      return {
        error: `.${at} accessor error: ${goPrint(value as JsonValue)} is of the type ${goType(value)}, expected map[string]interface{}`,
      }
    }
    value = Object.hasOwn(value, segment) ? value[segment] : undefined
  }
  return { value }
}

const goType = (value: unknown): string => goTypeOf(value as JsonValue)

export type Found<T> = { readonly value?: T | undefined; readonly error?: string | undefined }

export function integerAt(object: unknown, path: string): Found<number> {
  const { value, error } = valueAt(object, path)
  if (error !== undefined || value === undefined) return { error }
  if (typeof value === 'number' && Number.isInteger(value)) return { value }
  return { error: wrongType(path, value, 'int64') }
}

export function textAt(object: unknown, path: string): Found<string> {
  const { value, error } = valueAt(object, path)
  if (error !== undefined || value === undefined) return { error }
  return typeof value === 'string' ? { value } : { error: wrongType(path, value, 'string') }
}

function wrongType(path: string, value: unknown, expected: string): string {
  return `.${segmentsOf(path).join('.')} accessor error: ${goPrint(value as JsonValue)} is of the type ${goType(value)}, expected ${expected}`
}

/** Makes the objects on the way that are not there. */
export function setAt(object: Fields, path: string, value: unknown): void {
  const segments = segmentsOf(path)
  const last = segments.pop() ?? ''
  let place = object
  for (const segment of segments) {
    const inside = place[segment]
    const next = isFields(inside) ? { ...inside } : {}
    place[segment] = next
    place = next
  }
  place[last] = value
}
