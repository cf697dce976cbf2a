/** Names made by the server for objects that come with a generateName. */
import { nameSuffix, type Random } from '#base/random.ts'

const maxNameBytes = 63
const suffixLength = 5

/** How long a generateName may be before it is cut. */
const maxPrefixBytes = maxNameBytes - suffixLength

export function generatedName(prefix: string, random: Random): string {
  const bytes = Buffer.byteLength(prefix)
  const base = bytes > maxPrefixBytes ? Buffer.from(prefix).subarray(0, maxPrefixBytes).toString() : prefix
  return base + nameSuffix(random, suffixLength)
}
