/** Spreading a list into a call (`list.push(...more)`) puts every item on the stack: some 120,000 of them end in a RangeError. */

export function append<T>(list: T[], more: Iterable<T>): void {
  for (const each of more) list.push(each)
}

/** The largest of the values, and `atLeast` where none is larger. */
export function largest(atLeast: number, values: Iterable<number>): number {
  let found = atLeast
  for (const value of values) if (value > found) found = value
  return found
}

/** The smallest of the values, and `atMost` where none is smaller. */
export function smallest(atMost: number, values: Iterable<number>): number {
  let found = atMost
  for (const value of values) if (value < found) found = value
  return found
}
