/** What leaves a network from inside is to come back to the machine: one rule a family, known by its comment. */
import type { Processes } from '#base/processes.ts'

export type Masquerade = {
  from: readonly string[]
  /** What goes there keeps its own address; one range a family at most. Where a family has none, `from` itself. */
  except: readonly string[]
  comment: string
}

const programs = ['iptables', 'ip6tables'] as const
type Program = (typeof programs)[number]

const programOf = (cidr: string): Program => (cidr.includes(':') ? 'ip6tables' : 'iptables')

/** Resolves false where the rules cannot be made. Rules of the same comment that are not asked for are taken away. */
export async function ensureMasquerade(wanted: Masquerade, processes: Processes): Promise<boolean> {
  const rules = wanted.from.map((from) => {
    const program = programOf(from)
    const except = wanted.except.find((range) => programOf(range) === program) ?? from
    return { program, rule: ['-s', from, '!', '-d', except, '-m', 'comment', '--comment', wanted.comment, '-j', 'MASQUERADE'] }
  })
  for (const program of programs) {
    const present = await rulesOf(program, wanted.comment, processes)
    const own = rules.filter((rule) => rule.program === program).map(({ rule }) => rule)
    if (present === undefined && own.length > 0) return false
    const isIn = (list: readonly string[][], rule: readonly string[]) => list.some((one) => one.join(' ') === rule.join(' '))
    for (const rule of own) {
      if (isIn(present ?? [], rule)) continue
      if ((await iptables(processes, program, ['-A', 'POSTROUTING', ...rule])) === undefined) return false
    }
    for (const rule of present ?? []) if (!isIn(own, rule)) await iptables(processes, program, ['-D', 'POSTROUTING', ...rule])
  }
  return true
}

export async function removeMasquerade(comment: string, processes: Processes): Promise<void> {
  await ensureMasquerade({ from: [], except: [], comment }, processes)
}

/** Undefined where the program is not there, or may not look. */
async function rulesOf(program: Program, comment: string, processes: Processes): Promise<string[][] | undefined> {
  const text = await iptables(processes, program, ['-S', 'POSTROUTING'])
  const quoted = `"${comment}"`
  return text
    ?.split('\n')
    .filter((line) => line.startsWith('-A POSTROUTING ') && (line.includes(quoted) || line.includes(`--comment ${comment} `)))
    .map((line) =>
      line
        .replace(quoted, '\0')
        .split(' ')
        .slice(2)
        .map((word) => (word === '\0' ? comment : word)),
    )
}

async function iptables(processes: Processes, program: Program, args: readonly string[]): Promise<string | undefined> {
  try {
    const { exitCode, stdout } = await processes.run(program, ['-w', '-t', 'nat', ...args])
    return exitCode === 0 ? stdout : undefined
  } catch {
    // There is no such program.
    return undefined
  }
}
