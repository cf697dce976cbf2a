/** Fields that keep the value they were created with. */
import type { Check } from '#api/meta/check.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

/** `struct` tells how the message quotes the value, see `asInternal`; plain texts and numbers need none. */
export function mustNotChange(check: Check<unknown>, prev: unknown, struct?: string): void {
  const next = check.value
  if (semanticEqual(next, prev)) return
  check.invalid('field is immutable', struct === undefined ? next : asInternal(struct, next))
}
