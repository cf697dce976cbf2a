/** Puts `next` into an order in which as many as can keep the place they have in `previous`, so that little has to be rewritten. */
export function keepPlaces(previous: readonly string[], next: readonly string[]): string[] {
  const wanted = new Set(next)
  const kept = new Set<string>()
  const places = next.map((_, place): string | undefined => {
    const before = previous[place]
    if (before === undefined || !wanted.has(before)) return undefined
    kept.add(before)
    return before
  })
  const others = next.filter((each) => !kept.has(each)).values()
  return places.map((place) => place ?? others.next().value ?? '')
}
