/** Lists, sets and maps of a limited size: when there are too many items, nothing else is said about them. */
import type { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'
import { byteLength } from '#api/meta/names.ts'

type Judge<T> = (item: T, check: Check) => void

/** `check` stands at the list. */
export function boundedList<T>(list: readonly T[] | undefined | null, max: number, check: Check, judge: Judge<T>): void {
  if (list && list.length > max) check.tooMany(list.length, max)
  else each(list, check, judge)
}

/** Items of the same key are reported after everything else; `shown` stands in for the key where messages quote another value. */
export function boundedSet<T>(
  list: readonly T[] | undefined | null,
  max: number,
  check: Check,
  rules: { key(item: T): string; shown?(item: T): unknown; judge?: Judge<T> },
): void {
  if (list && list.length > max) {
    check.tooMany(list.length, max)
    return
  }
  if (rules.judge) each(list, check, rules.judge)
  const keys = new Set<string>()
  each(list, check, (item, at) => {
    const key = rules.key(item)
    if (keys.has(key)) at.duplicate(rules.shown ? rules.shown(item) : key)
    keys.add(key)
  })
}

/** Keys are judged at the map, items at their key, which is cut short in paths if it is too long. */
export function boundedMap<T>(
  map: { readonly [key: string]: T } | undefined,
  max: number,
  maxKeyBytes: number,
  check: Check,
  rules: { key: Judge<string>; item?: Judge<T> },
): void {
  const entries = Object.entries(map ?? {})
  if (entries.length > max) {
    check.tooMany(entries.length, max)
    return
  }
  for (const [key, item] of entries) {
    rules.key(key, check)
    rules.item?.(item, check.key(cutShort(key, maxKeyBytes)))
  }
}

function cutShort(text: string, maxBytes: number): string {
  if (byteLength(text) <= maxBytes) return text
  const bytes = Buffer.from(text)
  const kept = maxBytes - 3
  return `${bytes.subarray(0, Math.floor((kept + 1) / 2))}...${bytes.subarray(bytes.length - Math.floor(kept / 2))}`
}
