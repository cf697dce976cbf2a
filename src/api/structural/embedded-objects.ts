/** Objects inside of objects: they say what they are, and their metadata is sound. */
import type { DynamicCheck } from '#api/meta/check.ts'
import { parseApiVersion, unexpectedApiVersion } from '#api/meta/gvk.ts'
import { dns1035Label, nameIsPathSegment } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { type Fields, fieldShape, isFields, type Shape } from '#api/structural/shape.ts'

export function validateEmbedded(value: unknown, shape: Shape, check: DynamicCheck): void {
  if (!shape.hasEmbedded) return
  if (Array.isArray(value)) {
    const { items } = shape
    if (items?.hasEmbedded) for (const [index, item] of value.entries()) validateEmbedded(item, items, check.at(index))
  } else if (isFields(value)) {
    if (shape.isEmbedded) validateObject(value, check)
    for (const name in value) {
      const inside = fieldShape(shape, name)
      if (inside?.hasEmbedded) validateEmbedded(value[name], inside, shape.properties?.has(name) ? check.at(name) : check.key(name))
    }
  }
}

function validateObject(object: Fields, check: DynamicCheck): void {
  for (const name of ['apiVersion', 'kind']) if (!(name in object)) check.at(name).required()
  const { apiVersion, kind, metadata } = object
  if (apiVersion !== undefined) validateText(apiVersion, check.at('apiVersion'), apiVersionErrors)
  if (kind !== undefined) validateText(kind, check.at('kind'), kindErrors)
  if (!isFields(metadata)) return
  // Any name will do where there is none.
  const meta: V1ObjectMeta = { ...metadata, name: (metadata as V1ObjectMeta).name || 'fakename' }
  const scope = meta.namespace ? 'Namespaced' : 'Cluster'
  validateObjectMeta(check.at('metadata').with(meta), { scope, nameRule: nameIsPathSegment, finalizers: 'any' })
}

function validateText(value: unknown, check: DynamicCheck, errorsOf: (text: string) => string[]): void {
  if (typeof value !== 'string') check.invalid('must be a string', value)
  else if (value === '') check.invalid('must not be empty', value)
  else for (const message of errorsOf(value)) check.invalid(message, value)
}

const apiVersionErrors = (text: string): string[] => (parseApiVersion(text) === undefined ? [unexpectedApiVersion(text)] : [])

function kindErrors(text: string): string[] {
  const errors = dns1035Label(text.toLowerCase())
  return errors.length === 0 ? [] : [`may have mixed case, but should otherwise match: ${errors.join(',')}`]
}
