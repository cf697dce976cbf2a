/** What stands twice in a list, found in time linear in its length. */
import type { Check } from '#api/meta/check.ts'

/** Reports each item whose key an earlier one has. `keyOf` must give the same text for items that are the same. */
export function eachRepeated<T>(
  check: Check<readonly T[] | null | undefined>,
  keyOf: (item: T) => string,
  report: (item: Check<T>) => void = (item) => item.duplicate(),
): void {
  const seen = new Set<string>()
  for (const [index, item] of (check.value ?? []).entries()) {
    const key = keyOf(item)
    if (seen.has(key)) report(check.or([]).at(index))
    else seen.add(key)
  }
}
