/** Names made by the server for objects that come with a generateName. */
import { nameSuffix, type Random } from '#base/random.ts'

const maxNameBytes = 63
const suffixLength = 5

/** How long a generateName may be before it is cut. */
export const maxPrefixBytes = maxNameBytes - suffixLength

/** How often a create tries another name when the one it made is taken. */
export const maxNameAttempts = 8

export function generatedName(prefix: string, random: Random): string {
  const bytes = Buffer.byteLength(prefix)
  const base = bytes > maxPrefixBytes ? Buffer.from(prefix).subarray(0, maxPrefixBytes).toString() : prefix
  return base + nameSuffix(random, suffixLength)
}
