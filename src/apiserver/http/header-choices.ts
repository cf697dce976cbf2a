/** Longer lists of choices are nobody's: Accept headers of clients have some hundred characters. */
const longestChars = 4096

/** The choices that a header lists with commas: all of it, or as many as are worth looking at where it does not end. */
export function headerChoices(header: string | undefined): string {
  if (header === undefined) return ''
  if (header.length <= longestChars) return header
  const comma = header.lastIndexOf(',', longestChars)
  return header.slice(0, comma < 0 ? longestChars : comma)
}
