/** How answers of the replay are held against those that were recorded. */

import { differenceOf, pathsOf } from '#api/meta/apply/field-set.ts'
import { type PathElement, printedPath } from '#api/meta/apply/path-element.ts'
import { equalJson, isObject, type JsonObject, type JsonValue, setField } from '#api/meta/patch/json-value.ts'
import type { V1ManagedFieldsEntry } from '#api/meta/v1/types.gen.ts'
import type { TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'

/** As decoding into Go's types leaves it: without nulls, unknown fields, and what is left out when empty. */
export function asTyped(object: JsonObject, schema: TypeSchema | undefined): JsonObject {
  if (schema === undefined) return object
  const typed: JsonObject = {}
  for (const key in object) {
    const field = schema.fieldsByName.get(key)
    const value = object[key]
    if (field === undefined || value === undefined || value === null || (field.omitEmpty && isEmptyInGo(value, field.value))) continue
    setField(typed, key, asTypedValue(value, field.value))
  }
  return typed
}

function asTypedValue(value: JsonValue, schema: ValueSchema): JsonValue {
  if (schema.kind === 'message' && isObject(value)) return asTyped(value, schema.type)
  if (schema.kind === 'list' && Array.isArray(value)) return value.map((item) => asTypedValue(item, schema.items))
  return value
}

function isEmptyInGo(value: JsonValue, schema: ValueSchema): boolean {
  if (schema.pointer || schema.kind === 'message') return false
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) ? Object.keys(value).length === 0 : value === '' || value === 0 || value === false
}

/** Values that the server itself writes. */
const serverWritten = /^\.(metadata\.(managedFields|resourceVersion|generation|uid|creationTimestamp)|status)|controller-uid$/

/** Everything of `result` is in the answer, to which defaults may be added. Through a subresource the spec is put back. */
export function expectKept(result: JsonValue, answer: JsonValue | undefined, path: string, subresource: string): void {
  if (serverWritten.test(path) || (subresource !== '' && path === '.spec')) return
  const difference = `${path}: ${JSON.stringify(result)}, expected ${JSON.stringify(answer)}`
  if (Array.isArray(result)) {
    if (result.length === 0 && (answer === undefined || answer === null)) return
    if (!Array.isArray(answer) || answer.length !== result.length) throw new Error(difference)
    result.forEach((item, index) => {
      expectKept(item, answer[index], `${path}[${index}]`, subresource)
    })
  } else if (isObject(result)) {
    if (isObject(answer)) for (const key in result) expectKept(result[key] ?? null, answer[key], `${path}.${key}`, subresource)
    else if (Object.keys(result).length > 0) throw new Error(difference)
  } else if (result !== answer) throw new Error(difference)
}

export function expectOwners(wanted: readonly V1ManagedFieldsEntry[], given: readonly V1ManagedFieldsEntry[]): void {
  const identity = ({ fieldsV1: _, ...entry }: V1ManagedFieldsEntry): string => JSON.stringify(entry, Object.keys(entry).sort())
  const [theirs, ours] = [new Map(wanted.map((each) => [identity(each), each])), new Map(given.map((each) => [identity(each), each]))]
  const problems: string[] = []
  for (const [id, entry] of theirs) {
    const own = ours.get(id)
    if (own === undefined) problems.push(`no entry ${id}`)
    else
      problems.push(...surplus(entry, own).map((path) => `${id} lacks ${path}`), ...surplus(own, entry).map((path) => `${id} has ${path}`))
  }
  for (const id of ours.keys()) if (!theirs.has(id)) problems.push(`an entry too many: ${id}`)
  if (problems.length > 0) throw new Error(problems.slice(0, 6).join('; '))
}

/** On create, admission and allocation add fields after the owners were noted: only what was sent is held against us. */
export function expectCreator(wanted: readonly V1ManagedFieldsEntry[], given: readonly V1ManagedFieldsEntry[], sent: JsonValue): void {
  const [theirs, ours] = [wanted[0] ?? {}, given[0] ?? {}]
  if (wanted.length > 1 || given.length > 1) throw new Error(`${given.length} entries, expected ${wanted.length}`)
  const lacking = surplus(theirs, ours)
  const tooMany = pathsOf(differenceOf(ours.fieldsV1 ?? {}, theirs.fieldsV1 ?? {})).filter((path) => isIn(sent, path))
  if (lacking.length > 0) throw new Error(`the creator lacks ${lacking.join(' ')}`)
  if (tooMany.length > 0) throw new Error(`the creator has ${tooMany.map(printedPath).join(' ')}`)
}

function surplus(more: V1ManagedFieldsEntry, less: V1ManagedFieldsEntry): string[] {
  return pathsOf(differenceOf(more.fieldsV1 ?? {}, less.fieldsV1 ?? {})).map(printedPath)
}

function isIn(value: JsonValue | undefined, path: readonly PathElement[]): boolean {
  let inside = value
  for (const element of path) {
    const rest = element.slice(2)
    if (element.startsWith('f:')) inside = isObject(inside) ? inside[rest] : undefined
    else if (!Array.isArray(inside)) return false
    else if (element.startsWith('v:')) inside = inside.find((item) => item === JSON.parse(rest))
    else {
      const keys = JSON.parse(rest) as JsonObject
      inside = inside.find(
        (item) => isObject(item) && Object.keys(keys).every((key) => item[key] === undefined || equalJson(item[key], keys[key])),
      )
    }
    if (inside === undefined) return false
  }
  return true
}
