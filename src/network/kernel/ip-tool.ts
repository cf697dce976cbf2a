/** The kernel's links, addresses, routes and neighbours, by way of iproute2. */
import { asLines } from '#base/as-lines.ts'
import { defined } from '#base/defined.ts'
import type { Processes } from '#base/processes.ts'

export type IpTool = {
  /** What `ip -json ARGS` tells; nothing where the thing asked for is not there. */
  show<Row>(...args: readonly string[]): Promise<Row[]>
  /** Makes changes one after the other in one process (`link add …`); ends at the first that fails, and throws what `ip` said of it. */
  change(commands: readonly string[]): Promise<void>
  /** Makes those that can be made: for what may be gone already. */
  try(commands: readonly string[]): Promise<void>
}

export type Link = {
  ifname: string
  ifindex: number
  ifalias?: string
  link?: string | null
  flags: string[]
  mtu: number
  address?: string
  master?: string
  link_index?: number
  linkinfo?: { info_kind?: string; info_data?: Record<string, unknown> }
  addr_info?: { family: string; local: string; prefixlen: number; scope: string }[]
}
export type Route = { dst: string; gateway?: string; dev?: string; protocol?: string; flags?: string[]; prefsrc?: string; type?: string }
export type Neighbour = { dst: string; dev: string; lladdr?: string; state?: string[] }

/** One that hangs must not stop everything. */
const longestMs = 60_000

/** Where `namespace` is given (a path such as `/run/netns/NAME`), all is asked and done in that network namespace. */
export function ipTool(processes: Processes, namespace?: string): IpTool {
  const prefix = namespace === undefined ? [] : ['nsenter', `--net=${namespace}`]
  const run = (args: readonly string[], input?: string) => {
    const [program = 'ip', ...rest] = [...prefix, 'ip', ...args]
    return processes.run(program, rest, { timeoutMs: longestMs, ...defined({ input }) })
  }
  const batch = async (flags: readonly string[], commands: readonly string[]) => {
    if (commands.length === 0) return { exitCode: 0, stderr: '' }
    return run([...flags, '-batch', '-'], asLines(commands))
  }
  return {
    async show<Row>(...args: readonly string[]) {
      const { exitCode, stdout, stderr } = await run(['-json', '-details', ...args])
      if (exitCode !== 0 && !/does not exist|Cannot find|No such/i.test(stderr)) throw new Error(`ip ${args.join(' ')}: ${stderr.trim()}`)
      // Where a table of routes is not there, the text is empty; where a link has nothing to tell, its place in the list is.
      const rows: (Row & object)[] = exitCode === 0 && stdout.trim() !== '' ? JSON.parse(stdout) : []
      return rows.filter((row) => Object.keys(row).length > 0)
    },
    async change(commands) {
      const { exitCode, stderr } = await batch([], commands)
      if (exitCode === 0) return
      const line = Number(/Command failed [^\s:]*:(\d+)/.exec(stderr)?.[1] ?? 0)
      throw new Error(`ip ${commands[line - 1] ?? commands.join('; ')}: ${stderr.split('\n')[0]?.trim()}`)
    },
    async try(commands) {
      await batch(['-force'], commands)
    },
  }
}
