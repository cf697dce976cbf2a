/** `--sort-by`: by the value at a path, numbers as numbers, times as times, quantities as what they amount to. */
import { type JsonPath, JsonPathError, parseJsonPath } from '#api/meta/json-path.ts'
import { isQuantity, parseQuantity } from '#api/meta/quantity.ts'
import { CliError } from '#cli/cli-error.ts'
import { relaxedPath } from '#cli/template/json-path-template.ts'

export class NoSuchField extends CliError {}
export class NoPath extends CliError {}

/** The same items in order, those that have no value first. */
export function sortedBy<T>(items: readonly T[], field: string, objectOf: (item: T) => unknown): T[] {
  const path = pathOf(field)
  const keyed = items.map((item) => ({ item, key: valueAt(path, objectOf(item)) }))
  if (keyed.length > 0 && keyed.every(({ key }) => key === undefined))
    throw new NoSuchField(`couldn't find any field with path ${JSON.stringify(relaxedPath(field))} in the list of objects`)
  const unsortable = keyed.length < 2 ? undefined : keyed.find(({ key }) => typeof key === 'object')?.key
  if (unsortable !== undefined)
    throw new CliError(
      `field ${relaxedPath(field)} cannot be sorted by: unsortable type: ${Array.isArray(unsortable) ? '[]interface {}' : 'map[string]interface {}'}`,
    )
  if (keyed.length <= insertedAtMost) insertOneByOne(keyed, (one, other) => one.key === undefined || compare(one.key, other.key) < 0)
  else keyed.sort((one, other) => compare(one.key, other.key))
  return keyed.map(({ item }) => item)
}

/** Up to so many Go sorts by insertion, which shows where what has no value counts as less than anything. */
const insertedAtMost = 12

function insertOneByOne<T>(items: T[], isLess: (one: T, other: T) => boolean): void {
  for (let end = 1; end < items.length; end++) {
    for (let at = end; at > 0; at--) {
      const [before, here] = [items[at - 1] as T, items[at] as T]
      if (!isLess(here, before)) break
      items[at - 1] = here
      items[at] = before
    }
  }
}

function pathOf(field: string): JsonPath {
  try {
    return parseJsonPath(relaxedPath(field).slice(1, -1))
  } catch (error) {
    throw new NoPath((error as Error).message)
  }
}

function valueAt(path: JsonPath, object: unknown): unknown {
  try {
    return path(object)[0] ?? undefined
  } catch (error) {
    if (error instanceof JsonPathError) return undefined
    throw error
  }
}

function compare(one: unknown, other: unknown): number {
  if (one === undefined || other === undefined) return one === other ? 0 : one === undefined ? -1 : 1
  if (typeof one === 'number' && typeof other === 'number') return one - other
  const [left, right] = [String(one), String(other)]
  const times = [Date.parse(left), Date.parse(right)] as const
  if (isTime(left) && isTime(right)) return times[0] - times[1]
  if (isQuantity(left) && isQuantity(right)) return parseQuantity(left).compare(parseQuantity(right))
  return naturally(left, right)
}

const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text)

/** Runs of digits count as numbers: `pod-9` before `pod-10`. */
function naturally(one: string, other: string): number {
  const [left, right] = [one.split(/(\d+)/), other.split(/(\d+)/)]
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const [a = '', b = ''] = [left[at], right[at]]
    if (a === b) continue
    if (at % 2 === 1 && Number(a) !== Number(b)) return Number(a) - Number(b)
    return a < b ? -1 : 1
  }
  return left.length - right.length
}
