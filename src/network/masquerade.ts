/** What leaves a network from inside is to come back to the machine: one rule a family, known by its comment. */
import type { Processes } from '#base/processes.ts'
import { ensureOwnRules, programOf } from '#network/own-rules.ts'

export type Masquerade = {
  from: readonly string[]
  /** What goes there keeps its own address; one range a family at most. Where a family has none, `from` itself. */
  except: readonly string[]
  comment: string
}

/** Resolves false where the rules cannot be made. Rules of the same comment that are not asked for are taken away. */
export function ensureMasquerade({ from, except, comment }: Masquerade, processes: Processes): Promise<boolean> {
  const rules = from.map((range) => {
    const program = programOf(range)
    const kept = except.find((one) => programOf(one) === program) ?? range
    return { program, rule: ['-s', range, '!', '-d', kept, '-m', 'comment', '--comment', comment, '-j', 'MASQUERADE'] }
  })
  return ensureOwnRules({ table: 'nat', chain: 'POSTROUTING', rules, comment }, processes)
}

export async function removeMasquerade(comment: string, processes: Processes): Promise<void> {
  await ensureMasquerade({ from: [], except: [], comment }, processes)
}
