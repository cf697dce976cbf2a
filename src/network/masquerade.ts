/** What leaves a network from inside is to come back to the machine: one rule a family, known by its comment. */
import { addressAt, parseRange } from '#base/ip-range.ts'
import type { Processes } from '#base/processes.ts'
import { ensureOwnRules, programOf } from '#network/own-rules.ts'

export type Masquerade = {
  from: readonly string[]
  /** What goes there keeps its own address. Where a family has none, `from` itself. */
  except: readonly string[]
  /** What leaves by this link does too. */
  exceptLink?: string
  comment: string
}

/** Resolves false where the rules cannot be made. Rules of the same comment that are not asked for are taken away. */
export function ensureMasquerade({ from, except, exceptLink, comment }: Masquerade, processes: Processes): Promise<boolean> {
  const rules = from.map((range) => {
    const program = programOf(range)
    const [kept = range, ...more] = [...new Set(except.filter((one) => programOf(one) === program))]
    // A rule takes one destination, but any number of matches by range.
    const others = more.flatMap((one) => ['-m', 'iprange', '!', '--dst-range', boundsOf(one)])
    const link = exceptLink === undefined ? [] : ['!', '-o', exceptLink]
    return { program, rule: ['-s', range, '!', '-d', kept, ...link, ...others, '-m', 'comment', '--comment', comment, '-j', 'MASQUERADE'] }
  })
  return ensureOwnRules({ table: 'nat', chain: 'POSTROUTING', rules, comment }, processes)
}

function boundsOf(cidr: string): string {
  const range = parseRange(cidr)
  return `${addressAt(range, 0)}-${addressAt(range, range.size - 1n)}`
}

export async function removeMasquerade(comment: string, processes: Processes): Promise<void> {
  await ensureMasquerade({ from: [], except: [], comment }, processes)
}
