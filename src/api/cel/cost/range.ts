/** Sizes and costs that are known only to lie between two numbers. */

export type Range = { readonly min: number; readonly max: number }

/** More than this is not told apart. */
export const unlimited = 2 ** 64

const capped = (value: number): number => Math.min(value, unlimited)

export const exactly = (value: number): Range => ({ min: value, max: value })
export const unknown: Range = { min: 0, max: unlimited }
export const nothing: Range = exactly(0)

export const plus = (one: Range, other: Range): Range => ({ min: capped(one.min + other.min), max: capped(one.max + other.max) })
export const times = (one: Range, other: Range): Range => ({ min: capped(one.min * other.min), max: capped(one.max * other.max) })
/** Rounded up to whole steps. */
export const scaled = ({ min, max }: Range, factor: number): Range => ({
  min: capped(Math.ceil(min * factor)),
  max: capped(Math.ceil(max * factor)),
})
export const either = (one: Range, other: Range): Range => ({ min: Math.min(one.min, other.min), max: Math.max(one.max, other.max) })
export const total = (ranges: readonly Range[]): Range => ranges.reduce(plus, nothing)
