/** Where in objects of a kind a value belongs: `spec/template/metadata/labels`. Lists on the way are gone through item by item. */
import type { ApiObject } from '#cli/call.ts'
import { groupAndVersion } from '#cli/session/resource-types.ts'
import { type Gvk, isSelectedBy } from './item.ts'

export type FieldSpec = Gvk & {
  path: string
  /** Missing fields are made. */
  create?: boolean
}

/** A field, by what holds it. */
export type Place = { holder: Record<string | number, unknown>; key: string | number }

type Made = 'map' | 'text' | 'nothing'

/** The places that a path leads to in an object; none where its kind is another. */
export function placesOf(object: ApiObject, spec: FieldSpec, made: Made = 'nothing'): Place[] {
  const [group, version] = groupAndVersion(object.apiVersion ?? '')
  if (!isSelectedBy({ group, version, kind: object.kind ?? '' }, spec)) return []
  const places: Place[] = []
  walk(object as Record<string, unknown>, splitPath(spec.path), spec.create === true ? made : 'nothing', places)
  return places
}

function walk(value: unknown, path: readonly string[], made: Made, places: Place[]): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, path, made, places)
    return
  }
  if (typeof value !== 'object' || value === null) return
  const holder = value as Record<string, unknown>
  const [first = '', ...rest] = path
  const isList = first.endsWith('[]')
  const key = isList ? first.slice(0, -2) : first
  if ((holder[key] === undefined || holder[key] === null) && made !== 'nothing' && !isList)
    holder[key] = rest.length > 0 || made === 'map' ? {} : ''
  if (holder[key] === undefined || holder[key] === null) return
  if (rest.length > 0) walk(holder[key], rest, made, places)
  else places.push({ holder, key })
}

/** Slashes that are part of a name have a backslash before them. */
function splitPath(path: string): string[] {
  return path
    .replace(/^\//, '')
    .split(/(?<!\\)\//)
    .map((part) => part.replaceAll('\\/', '/'))
}
