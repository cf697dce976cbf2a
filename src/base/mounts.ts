/** File systems, mounted and taken off. */
import { nodeFiles } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'

export type Mounts = {
  /** Every place at or below the directory (a path without links) where something is mounted, the latest first; a place may come twice. */
  below(directory: string): Promise<string[]>
  /** A file system in memory; half of the machine's memory may go into it unless a size is given. */
  mountMemory(path: string, options?: { sizeBytes?: number }): Promise<void>
  /** A file system of large pages of memory, of which the machine has set some aside. */
  mountHugePages(path: string, options: { pageSizeBytes: number }): Promise<void>
  /** `path` shows what is at `source`. Neither is looked up in a way that follows what others may have changed. */
  bind(source: string, path: string): Promise<void>
  /** Takes off what was mounted there last. */
  unmount(path: string): Promise<void>
}

class MountError extends Error {
  override name = 'MountError'
}

/** The machine's, by its own programs; needs to be root. */
export const nodeMounts: Mounts = {
  async below(directory) {
    const lines = (await nodeFiles.readText('/proc/self/mountinfo')).split('\n')
    const places = lines.map((line) => unescaped(line.split(' ')[4] ?? ''))
    return places.filter((place) => place === directory || place.startsWith(`${directory}/`)).reverse()
  },
  async mountMemory(path, { sizeBytes } = {}) {
    const size = sizeBytes === undefined ? [] : [`size=${sizeBytes}`]
    const mount = (options: string[]) =>
      run('mount', [
        '--no-mtab',
        '--no-canonicalize',
        '-t',
        'tmpfs',
        ...(options.length === 0 ? [] : ['-o', options.join(',')]),
        'tmpfs',
        path,
      ])
    if (knowsNoswap) {
      try {
        return await mount([...size, 'noswap'])
      } catch {
        // Kernels before 6.4 know no such option.
        await mount(size)
        knowsNoswap = false
        return
      }
    }
    await mount(size)
  },
  mountHugePages: (path, { pageSizeBytes }) =>
    run('mount', ['--no-mtab', '--no-canonicalize', '-t', 'hugetlbfs', '-o', `pagesize=${pageSizeBytes}`, 'nodev', path]),
  bind: (source, path) => run('mount', ['--no-mtab', '--no-canonicalize', '--bind', source, path]),
  unmount: (path) => run('umount', ['--no-mtab', '--no-canonicalize', path]),
}

let knowsNoswap = true

async function run(program: string, args: string[]): Promise<void> {
  const { exitCode, stderr } = await nodeProcesses.run(program, args)
  if (exitCode !== 0) throw new MountError(`${program} ${args.join(' ')}: ${stderr.trim() || `exit status ${exitCode}`}`)
}

/** The kernel writes spaces, tabs, line ends and backslashes as octal numbers. */
const unescaped = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)))
