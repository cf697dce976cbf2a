/** File systems, mounted and taken off. */
import { errorMessage } from '#base/error-message.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'
import { systemCall, whyNoSystemCalls } from '#base/system-calls.ts'

export type Mounts = {
  /** Every place at or below the directory (a path without links) where something is mounted, the latest first; a place may come twice. */
  below(directory: string): Promise<string[]>
  /** A file system in memory; half of the machine's memory may go into it unless a size is given. */
  mountMemory(path: string, options?: { sizeBytes?: number }): Promise<void>
  /** A file system of large pages of memory, of which the machine has set some aside. */
  mountHugePages(path: string, options: { pageSizeBytes: number }): Promise<void>
  /** `path` shows what is at `source`. Neither is looked up in a way that follows what others may have changed. */
  bind(source: string, path: string): Promise<void>
  /** A file system of any type the machine knows, by its own helpers where it has some. */
  mount(mount: { source: string; path: string; type?: string; options?: readonly string[] }): Promise<void>
  /** Changes how something that is mounted may be used: `ro`, `noexec`. */
  remount(path: string, options: readonly string[]): Promise<void>
  /** Takes off what was mounted there last. */
  unmount(path: string): Promise<void>
  /**
   * Mounts at and below the path (without links) are seen in copies of it, and those made in shared copies are seen here. Resolves with
   * the place that had to be changed for it: the mount that the path lies in.
   */
  share(path: string): Promise<string | undefined>
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
    const mount = async (options: string[]) => mountTmpfs(path, options.join(','))
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
  mount({ source, path, type, options = [] }) {
    const all = [...(type === undefined ? [] : ['-t', type]), ...(options.length === 0 ? [] : ['-o', options.join(',')])]
    return run('mount', [...all, source, path])
  },
  remount: (path, options) => run('mount', ['--no-mtab', '--no-canonicalize', '-o', ['bind', 'remount', ...options].join(','), path]),
  unmount: (path) => run('umount', ['--no-mtab', '--no-canonicalize', path]),
  async share(path) {
    const mount = mountOf(path, await nodeFiles.readText('/proc/self/mountinfo'))
    if (mount === undefined || mount.isShared) return undefined
    await run('mount', ['--no-mtab', '--no-canonicalize', '--make-shared', mount.place])
    return mount.place
  },
}

/** Every pod has one: by the kernel itself where it can be called, which answers at once, since a program takes many times as long. */
async function mountTmpfs(path: string, options: string): Promise<void> {
  if (whyNoSystemCalls() !== undefined) {
    return run('mount', ['--no-mtab', '--no-canonicalize', '-t', 'tmpfs', ...(options === '' ? [] : ['-o', options]), 'tmpfs', path])
  }
  try {
    systemCall('mount', 'tmpfs', path, 'tmpfs', 0, options)
  } catch (error) {
    throw new MountError(`mount -t tmpfs ${path}: ${errorMessage(error)}`)
  }
}

/** The mount that a path lies in, by the kernel's list of mounts. */
export function mountOf(path: string, mountInfo: string): { place: string; isShared: boolean } | undefined {
  let found: { place: string; isShared: boolean } | undefined
  for (const line of mountInfo.split('\n')) {
    const fields = line.split(' ')
    const place = unescaped(fields[4] ?? '')
    const isAbove = place === '/' || path === place || path.startsWith(`${place}/`)
    // Of two at the same place the later one is seen.
    if (place === '' || !isAbove || (found !== undefined && place.length < found.place.length)) continue
    found = { place, isShared: fields.slice(6, fields.indexOf('-')).some((field) => field.startsWith('shared:')) }
  }
  return found
}

let knowsNoswap = true
const longestMs = 120_000

async function run(program: string, args: string[]): Promise<void> {
  // A server that does not answer must not be waited for for ever; the kernel may keep the program, we do not.
  const signal = AbortSignal.timeout(longestMs)
  const { exitCode, stderr } = await nodeProcesses.run(program, args, { signal }).catch((error: unknown) => {
    throw new MountError(`${program} ${args.join(' ')}: ${signal.aborted ? `no answer after ${longestMs / 1000} s` : String(error)}`)
  })
  if (exitCode !== 0) throw new MountError(`${program} ${args.join(' ')}: ${stderr.trim() || `exit status ${exitCode}`}`)
}

/** The kernel writes spaces, tabs, line ends and backslashes as octal numbers. */
const unescaped = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)))
