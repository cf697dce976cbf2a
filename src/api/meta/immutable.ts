/** Fields that keep the value they were created with. */
import type { Check } from '#api/meta/check.ts'
import type { Equality } from '#api/meta/equality.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

type Scalar = string | number | boolean | null | undefined

export function mustNotChange(check: Check<Scalar>, prev: Scalar): void
/** `struct` tells how the message quotes the value, see `asInternal`; lists of plain texts need none. */
export function mustNotChange<T>(check: Check<T>, prev: T | null | undefined, same: Equality<NonNullable<T>>, struct?: string): void
export function mustNotChange(check: Check<unknown>, prev: unknown, same?: Equality<never>, struct?: string): void {
  const next = check.value
  if (same === undefined ? (next ?? undefined) === (prev ?? undefined) : same(next as never, prev as never)) return
  check.invalid('field is immutable', struct === undefined ? next : asInternal(struct, next))
}
