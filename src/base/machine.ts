/** What the machine and the process are. */
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, homedir, hostname, networkInterfaces, totalmem } from 'node:os'
import { join } from 'node:path'

export type Machine = {
  hostname: string
  platform: NodeJS.Platform
  cores: number
  memoryBytes: number
  /** Addresses of its interfaces, loopback left out. */
  addresses(): string[]
  /** Where a program keeps a user's data: XDG on Linux, the platform's custom elsewhere. */
  dataDirectory(program: string): string
  homeDirectory: string
}

export function thisMachine(environment: Record<string, string | undefined> = process.env): Machine {
  return {
    hostname: hostname(),
    platform: process.platform,
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    addresses: () =>
      Object.values(networkInterfaces())
        .flat()
        .filter((entry) => entry !== undefined && !entry.internal && !entry.address.startsWith('fe80'))
        .map((entry) => (entry as { address: string }).address),
    dataDirectory(program) {
      if (process.platform === 'win32') return join(environment['LOCALAPPDATA'] ?? homedir(), program)
      if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', program)
      return join(environment['XDG_DATA_HOME'] ?? join(homedir(), '.local', 'share'), program)
    },
    homeDirectory: homedir(),
  }
}

const everyUser = 0xffffffff

/** The process this program runs in. */
export const thisProcess = {
  pid: process.pid,
  argv: process.argv,
  executable: process.execPath,
  environment: process.env as Record<string, string | undefined>,
  nodeVersion: process.version,
  /** Of the user namespace it is in, which may be one of its own. */
  isRoot: process.getuid?.() === 0,
  /** Where the process is in a user namespace other than the machine's: whether that has no other user than this one. */
  userNamespace: userNamespaceOf(() => readFileSync('/proc/self/uid_map', 'utf8')),
  /** `linux/amd64`, as Go writes it. */
  platform: `${process.platform === 'win32' ? 'windows' : process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  residentBytes: () => process.memoryUsage.rss(),
  cpuSeconds: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  },
  startedMs: Math.floor(performance.timeOrigin),
  /** Open files and how many there may be, where the system tells. */
  openFiles: () => {
    try {
      const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
      return { open: readdirSync('/proc/self/fd').length, limit: Number(limit) }
    } catch {
      return undefined
    }
  },
  print: (line: string) => {
    process.stdout.write(`${line}\n`)
  },
  write: (bytes: Uint8Array) => {
    process.stdout.write(bytes)
  },
  /** All of the standard input. */
  readInput: async (): Promise<string> => {
    let text = ''
    for await (const piece of process.stdin.setEncoding('utf8')) text += piece
    return text
  },
  complain: (line: string) => {
    process.stderr.write(`${line}\n`)
  },
  /** Ends the process when nothing holds it any more. */
  setExitCode: (code: number) => {
    process.exitCode = code
  },
  exit: (code: number): never => process.exit(code),
  /** Becomes another program, found by its path; the number of the process stays. */
  replaceBy: (path: string, args: readonly string[], environment: Record<string, string | undefined>): never => {
    if (process.execve === undefined) throw new Error('this system cannot replace a process by another program')
    const { emitWarning } = process
    // That the function is an experiment of Node's is nothing that users could act upon.
    process.emitWarning = () => {}
    try {
      return process.execve(path, [path, ...args], environment as NodeJS.ProcessEnv)
    } finally {
      process.emitWarning = emitWarning
    }
  },
}

function userNamespaceOf(readMap: () => string): { hasOneUser: boolean } | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const rows = readMap()
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
    const [inside, outside, count = 0] = rows[0] ?? []
    if (inside === 0 && outside === 0 && count === everyUser) return undefined
    return { hasOneUser: rows.reduce((sum, row) => sum + (row[2] ?? 0), 0) === 1 }
  } catch {
    return undefined
  }
}
