/** Paths of replacements: `spec.template.spec.containers.[name=main].image`. */
import { CliError } from '#cli/cli-error.ts'
import type { Place } from './field-spec.ts'

/** Dots separate, but not inside of brackets or after a backslash; brackets around a name are only for its dots. */
export function fieldPath(text: string): string[] {
  const parts = (text.match(/\[[^\]]*\]|(?:\\.|[^.[\]])+/g) ?? []).map((part) => part.replaceAll('\\.', '.'))
  return parts.map((part) => (part.startsWith('[') && !part.includes('=') ? part.slice(1, -1) : part))
}

export function valueAt(object: unknown, path: readonly string[]): unknown {
  const [place] = placesAt(object, path)
  return place?.holder[place.key]
}

/** Each place that a path leads to. `empty` is what a missing field becomes; without it none is made. */
export function placesAt(object: unknown, path: readonly string[], empty?: unknown): Place[] {
  let places: Place[] = [{ holder: { root: object }, key: 'root' }]
  for (const [index, part] of path.entries()) {
    const next = path[index + 1]
    const made = empty === undefined ? undefined : next === undefined ? empty : isListPart(next) ? [] : {}
    places = places.flatMap(({ holder, key }) => inside(holder[key], part, made))
  }
  return places
}

const isListPart = (part: string): boolean => part === '*' || /^\d+$/.test(part) || /^\[.*=.*\]$/.test(part)

function inside(value: unknown, part: string, made: unknown): Place[] {
  if (Array.isArray(value)) return insideList(value, part, made)
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  if (holder[part] === undefined && made !== undefined) holder[part] = structuredClone(made)
  return holder[part] === undefined ? [] : [{ holder, key: part }]
}

function insideList(list: unknown[], part: string, made: unknown): Place[] {
  const holder = list as unknown as Record<number, unknown>
  const at = (index: number): Place => ({ holder, key: index })
  if (part === '*') return list.map((_, index) => at(index))
  if (/^\d+$/.test(part)) {
    const index = Number(part)
    if (index === list.length && made !== undefined) list.push(structuredClone(made))
    if (index >= list.length) throw new CliError(`index ${index} specified but only ${list.length} elements found`)
    return [at(index)]
  }
  const match = /^\[(.*?)=(.*)\]$/s.exec(part)
  if (match === null) return []
  const [, field = '', pattern = ''] = match
  const matching = () => {
    const expression = new RegExp(pattern)
    const textOf = (item: unknown) => (field === '' ? item : (item as Record<string, unknown> | null)?.[field])
    return list.flatMap((item, index) => (textOf(item) !== undefined && expression.test(String(textOf(item))) ? [at(index)] : []))
  }
  const found = matching()
  if (found.length > 0 || made === undefined) return found
  list.push(field === '' ? pattern : { [field]: pattern })
  return matching()
}
