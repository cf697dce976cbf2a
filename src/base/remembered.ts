/** Longer texts are nobody's name, and would fill the memory. */
export const longestRemembered = 512

/** A function of a text that remembers what it made of texts that come again and again. It starts over when there are too many. */
export function remembered<T>(make: (text: string) => T, most = 1000): (text: string) => T {
  const known = new Map<string, T>()
  return (text) => {
    if (text.length > longestRemembered) return make(text)
    const found = known.get(text)
    if (found !== undefined) return found
    const made = make(text)
    if (known.size >= most) known.clear()
    known.set(text, made)
    return made
  }
}
