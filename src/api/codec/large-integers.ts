/** Objects that hold, or may hold, integers that are too large for a number: bigints, which most code does not expect. */
const holders = new WeakSet<object>()

export function markLargeIntegers(value: unknown): void {
  if (typeof value === 'object' && value !== null) holders.add(value)
}

/** Asked of the whole that was read or written, not of its parts. */
export function mayHoldLargeIntegers(value: object): boolean {
  return holders.has(value)
}
