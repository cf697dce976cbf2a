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

/** The process this program runs in. */
export const thisProcess = {
  pid: process.pid,
  argv: process.argv,
  executable: process.execPath,
  environment: process.env as Record<string, string | undefined>,
  nodeVersion: process.version,
  isRoot: process.getuid?.() === 0,
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
}
