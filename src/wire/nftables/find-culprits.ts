/** Whose fragment it is that nft does not take. */
import type { NftProgram } from '#wire/nftables/nft-program.ts'
import type { LeftOut, NftTable } from '#wire/nftables/nft-table.ts'

/** Each is a run of nft over a part of the table. What is not found by then is looked for the next time. */
const mostChecks = 200

/**
 * Asks nft of halves, and of halves of those that it refuses, changing nothing. Owners that come first are innocent where two are at odds,
 * and those whose fragments the kernel has taken before come before all others. Empty where it is nobody's.
 */
export async function findCulprits(table: NftTable, nft: Pick<NftProgram, 'check'>): Promise<LeftOut[]> {
  const { proven, unproven } = table.suspects()
  const out = new Set([...proven, ...unproven])
  const found: LeftOut[] = []
  if ((await nft.check(table.anewWithout(out))) !== undefined) return []
  const parts = [unproven, proven].filter((part) => part.length > 0)
  for (let checks = 0; checks < mostChecks; checks++) {
    const part = parts.pop()
    if (part === undefined) break
    const why = await nft.check(table.anewWithout(out.difference(new Set(part))))
    if (why === undefined) for (const owner of part) out.delete(owner)
    else if (part.length === 1) found.push({ owner: part[0] ?? '', why })
    else {
      const half = Math.ceil(part.length / 2)
      parts.push(part.slice(half), part.slice(0, half))
    }
  }
  return found
}
