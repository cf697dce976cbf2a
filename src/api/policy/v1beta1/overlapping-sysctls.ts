/** A pattern that other patterns begin with. */
type Covering = { start: string; indexes: number[]; shorter: Covering | undefined }

const startOf = (pattern: string): string => (pattern.endsWith('*') ? pattern.slice(0, -1) : pattern)

/**
 * Tells for each of `patterns` which of `others` stand for some of the same names, by index and in order: names, or what names begin with
 * and a star. In time that grows with the texts and with what is found, not with the number of pairs.
 */
export function overlappingSysctls(patterns: readonly string[], others: readonly string[]): (pattern: string) => number[] {
  const equal = indexesBy(others, (other) => other)
  const covering = coveringOf(patterns, equal)
  const byStart = indexesBy(others, startOf)
  const sortedStarts = patterns.some((pattern) => pattern.endsWith('*')) ? [...byStart.keys()].sort() : []
  return (pattern) => {
    const start = startOf(pattern)
    const same = equal.get(pattern)
    const longest = covering.get(start)
    if (same === undefined && longest === undefined && pattern === start) return []
    const found = new Set(same)
    for (let each = longest; each !== undefined; each = each.shorter) for (const index of each.indexes) found.add(index)
    if (pattern !== start) {
      for (let at = firstFrom(start, sortedStarts); sortedStarts[at]?.startsWith(start); at++) {
        for (const index of byStart.get(sortedStarts[at] ?? '') ?? []) found.add(index)
      }
    }
    return [...found].sort((one, other) => one - other)
  }
}

function indexesBy(texts: readonly string[], keyOf: (text: string) => string): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (let index = 0; index < texts.length; index++) {
    const key = keyOf(texts[index] ?? '')
    const indexes = found.get(key)
    if (indexes === undefined) found.set(key, [index])
    else indexes.push(index)
  }
  return found
}

/** By what a pattern begins with, the longest of the others with a star that covers it. In order of text, those that do are nested. */
function coveringOf(patterns: readonly string[], others: ReadonlyMap<string, number[]>): Map<string, Covering> {
  const starts = new Map<string, number[]>()
  for (const [other, indexes] of others) if (other.endsWith('*')) starts.set(startOf(other), indexes)
  const found = new Map<string, Covering>()
  if (starts.size === 0) return found
  const wanted = new Set(patterns.map(startOf))
  let top: Covering | undefined
  for (const text of [...new Set([...starts.keys(), ...wanted])].sort()) {
    while (top !== undefined && !text.startsWith(top.start)) top = top.shorter
    const indexes = starts.get(text)
    if (indexes !== undefined) top = { start: text, indexes, shorter: top }
    if (top !== undefined && wanted.has(text)) found.set(text, top)
  }
  return found
}

/** The first that does not come before `start`. */
function firstFrom(start: string, sorted: readonly string[]): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? '') < start) low = middle + 1
    else high = middle
  }
  return low
}
