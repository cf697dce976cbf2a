/** How much a selector of a request may ask for: all of it is read in one go, and compared with every object. */

/** No longer one comes through HTTP/2, either. */
const longestChars = 64 * 1024
/** Requirements and their values together. */
const mostTerms = 5000
/** Watches keep them. */
const mostRequirements = 1000

/** Why the selector is not even read; undefined where it is. */
export function selectorExcess(text: string): string | undefined {
  if (text.length > longestChars) return `a selector must have at most ${longestChars} characters`
  if (text.length < mostTerms) return undefined
  let terms = 1
  for (let at = text.indexOf(','); at >= 0; at = text.indexOf(',', at + 1)) terms++
  return terms > mostTerms ? `a selector must have at most ${mostTerms} terms` : undefined
}

export function requirementsExcess(count: number): string | undefined {
  return count > mostRequirements ? `a selector must have at most ${mostRequirements} requirements` : undefined
}
