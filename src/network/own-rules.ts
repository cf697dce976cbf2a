/** Rules in chains of iptables that others use too: ours are known by their comment. */
import type { Processes } from '#base/processes.ts'

const programs = ['iptables', 'ip6tables'] as const
export type RuleProgram = (typeof programs)[number]

export type OwnRules = {
  table: 'nat' | 'filter'
  chain: string
  rules: readonly { program: RuleProgram; rule: readonly string[] }[]
  comment: string
}

export const programOf = (cidr: string): RuleProgram => (cidr.includes(':') ? 'ip6tables' : 'iptables')

/** Resolves false where the rules cannot be made. Rules of the same comment in the chain that are not asked for are taken away. */
export async function ensureOwnRules({ table, chain, rules, comment }: OwnRules, processes: Processes): Promise<boolean> {
  const isIn = (list: readonly (readonly string[])[], rule: readonly string[]) => list.some((one) => one.join(' ') === rule.join(' '))
  for (const program of programs) {
    const run = (args: readonly string[]) => iptables(processes, program, ['-w', '-t', table, ...args])
    const present = rulesIn(await run(['-S', chain]), chain, comment)
    const own = rules.filter((rule) => rule.program === program).map(({ rule }) => rule)
    if (present === undefined && own.length > 0) return false
    for (const rule of own) {
      if (isIn(present ?? [], rule)) continue
      if ((await run(['-A', chain, ...rule])) === undefined) return false
    }
    for (const rule of present ?? []) if (!isIn(own, rule)) await run(['-D', chain, ...rule])
  }
  return true
}

/** Undefined where the program is not there, or may not look. */
function rulesIn(text: string | undefined, chain: string, comment: string): string[][] | undefined {
  const quoted = `"${comment}"`
  return text
    ?.split('\n')
    .filter((line) => line.startsWith(`-A ${chain} `) && (line.includes(quoted) || line.includes(`--comment ${comment} `)))
    .map((line) =>
      line
        .replace(quoted, '\0')
        .split(' ')
        .slice(2)
        .map((word) => (word === '\0' ? comment : word)),
    )
}

const longestMs = 60_000

async function iptables(processes: Processes, program: RuleProgram, args: readonly string[]): Promise<string | undefined> {
  try {
    const { exitCode, stdout } = await processes.run(program, args, { timeoutMs: longestMs })
    return exitCode === 0 ? stdout : undefined
  } catch {
    // There is no such program, or it hangs.
    return undefined
  }
}
