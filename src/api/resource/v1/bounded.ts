/** Lists, sets and maps of a limited size: when there are too many items, nothing else is said about them. */
import type { Check } from '#api/meta/check.ts'
import { eachRepeated } from '#api/meta/duplicates.ts'
import { byteLength } from '#api/meta/names.ts'

type Validate<T> = (check: Check<T>) => void

/** `check` stands at the list. */
export function boundedList<T>(check: Check<readonly T[] | undefined | null>, max: number, validate: Validate<T>): void {
  const list = check.value
  if (list && list.length > max) check.tooMany(list.length, max)
  else check.each((item) => validate(item))
}

/** Items of the same key are reported after everything else; `shown` stands in for the key where messages quote another value. */
export function boundedSet<T>(
  check: Check<readonly T[] | undefined | null>,
  max: number,
  rules: { key(item: T): string; shown?(item: T): unknown; validate?: Validate<T> },
): void {
  const list = check.value
  if (list && list.length > max) {
    check.tooMany(list.length, max)
    return
  }
  const { validate } = rules
  if (validate) check.each((item) => validate(item))
  eachRepeated(check, rules.key, (at) => at.duplicate(rules.shown ? rules.shown(at.value) : rules.key(at.value)))
}

/** Keys are validated at the map, items at their key, which is cut short in paths if it is too long. */
export function boundedMap<T>(
  check: Check<{ readonly [key: string]: T } | undefined>,
  max: number,
  maxKeyBytes: number,
  rules: { key: Validate<string>; item?: Validate<T> },
): void {
  const map = check.value
  const entries = Object.entries(map ?? {})
  if (entries.length > max) {
    check.tooMany(entries.length, max)
    return
  }
  for (const [key, item] of entries) {
    rules.key(check.with(key))
    rules.item?.(check.key(cutShort(key, maxKeyBytes)).with(item))
  }
}

function cutShort(text: string, maxBytes: number): string {
  if (byteLength(text) <= maxBytes) return text
  const bytes = Buffer.from(text)
  const kept = maxBytes - 3
  return `${bytes.subarray(0, Math.floor((kept + 1) / 2))}...${bytes.subarray(bytes.length - Math.floor(kept / 2))}`
}
