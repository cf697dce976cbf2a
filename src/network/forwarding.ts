/**
 * Lets packets from and to a cluster's ranges through a machine that forwards nothing else: Docker sets the policy of iptables' chain
 * FORWARD to DROP, firewalls do the same. Network policies are enforced elsewhere, and what they drop stays dropped.
 */
import type { Processes } from '#base/processes.ts'
import { ensureOwnRules, programOf } from '#network/own-rules.ts'

/** Resolves false where the rules cannot be made. Rules of the same comment that are not asked for are taken away. */
export function ensureForwarding(ranges: readonly string[], comment: string, processes: Processes): Promise<boolean> {
  const rules = ranges.flatMap((range) =>
    ['-s', '-d'].map((side) => ({ program: programOf(range), rule: [side, range, '-m', 'comment', '--comment', comment, '-j', 'ACCEPT'] })),
  )
  return ensureOwnRules({ table: 'filter', chain: 'FORWARD', rules, comment }, processes)
}

export async function removeForwarding(comment: string, processes: Processes): Promise<void> {
  await ensureForwarding([], comment, processes)
}
