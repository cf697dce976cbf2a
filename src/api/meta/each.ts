import type { Check } from '#api/meta/check.ts'

/** Judges every item of a list at its own place; `check` stands at the list. */
export function each<T>(list: readonly T[] | undefined | null, check: Check, judge: (item: T, check: Check) => void): void {
  for (const [index, item] of (list ?? []).entries()) judge(item, check.at(index))
}
