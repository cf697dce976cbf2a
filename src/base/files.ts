import { constants, type FSWatcher, type Stats, statSync, watch as watchPath, writeSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type DirectoryUsage, directoryUsage, holdsMany } from '#base/directory-usage.ts'
import { makeDirectoriesBelow, type PinnedPath, pinBelow } from '#base/pinned-paths.ts'
import { nodeProcesses } from '#base/processes.ts'

/** The file system as components see it: few verbs, each whole or not at all. Paths are the platform's own. */
export type Files = {
  read(path: string): Promise<Uint8Array>
  readText(path: string): Promise<string>
  /** Undefined when there is no such file; other trouble is thrown. */
  readTextIfPresent(path: string): Promise<string | undefined>
  /**
   * Readers see the old content or the new, never a part, and after it resolves the new content survives a power cut.
   * New files get `mode`, 0600 unless said otherwise. What need not survive a power cut is written several times faster.
   */
  write(path: string, content: Uint8Array | string, options?: { mode?: number; survivesPowerCut?: boolean }): Promise<void>
  append(path: string, content: Uint8Array | string, options?: { mode?: number }): Promise<void>
  /** Creates parents too; does nothing when it is there. New directories get `mode`, 0700 unless said otherwise. */
  makeDirectory(path: string, options?: { mode?: number }): Promise<void>
  /** Names in the directory, sorted; empty when there is none. */
  list(path: string): Promise<string[]>
  /** Names in a directory that others may have filled, in no order, a few at a time; none when there is no such directory. */
  names(path: string): AsyncIterable<string>
  /** What a directory takes up with all that is in it, each file once; nothing where there is none. */
  usage(path: string): Promise<DirectoryUsage>
  stat(path: string): Promise<FileStat | undefined>
  /** The same of what a link leads to. */
  statTarget(path: string): Promise<FileStat | undefined>
  /** The path without links; undefined when it leads nowhere. */
  realPath(path: string): Promise<string | undefined>
  rename(from: string, to: string): Promise<void>
  /** Files and whole directories; does nothing when there is nothing. */
  remove(path: string): Promise<void>
  /** One file, link or empty directory; does nothing when there is nothing. What something is mounted on stays. */
  removeOne(path: string): Promise<void>
  symlink(target: string, path: string): Promise<void>
  readLink(path: string): Promise<string | undefined>
  setMode(path: string, mode: number): Promise<void>
  setOwner(path: string, uid: number, gid: number): Promise<void>
  /** Whether this process may write there; absent: it may write everywhere. */
  mayWrite?(path: string): Promise<boolean>
  /** Creates the file, or resolves false when it is there already: the atom of a lock. */
  createExclusive(path: string, content: string | Uint8Array, options?: { mode?: number }): Promise<boolean>
  /** Holds what lies at `path` below `base`, links followed as long as they stay below; safe where others may write to `base`. */
  pinBelow(base: string, path: string): Promise<PinnedPath>
  /** Makes the directories of `path` that are missing below `base`, all with `mode`; safe where others may write to `base`. */
  makeDirectoriesBelow(base: string, path: string, mode: number): Promise<void>
  /** Calls back after something below `path` (a file or a directory) may have changed, with its name where known; may call back too often. */
  watch(path: string, onChange: (name?: string) => void): Disposable
  open(path: string, flags: 'r' | 'r+' | 'a' | 'w', mode?: number): Promise<OpenFile>
  /** A file for another program's output; `descriptor` may be handed to it. */
  openForOutput(path: string): Promise<{ descriptor: number; close(): Promise<void> }>
  temporaryDirectory(prefix: string): Promise<string>
}

export type FileStat = {
  kind: 'file' | 'directory' | 'symlink' | 'socket' | 'characterDevice' | 'blockDevice' | 'other'
  sizeBytes: number
  /** What it takes up on the disk. */
  allocatedBytes: number
  modifiedMs: number
  mode: number
  uid: number
  gid: number
  inode: number
  /** Of a device: which one it is. */
  deviceNumber?: { major: number; minor: number }
  device: number
}

export type OpenFile = AsyncDisposable & {
  /** Fewer bytes than asked for means the end of the file. */
  readAt(position: number, sizeBytes: number): Promise<Uint8Array>
  write(content: Uint8Array): Promise<void>
  /** Done when it returns: for a few bytes that must not be lost with the process. */
  writeAtOnce?(content: Uint8Array): void
  sizeBytes(): Promise<number>
  sync(): Promise<void>
  close(): Promise<void>
}

export const nodeFiles: Files = {
  read: (path) => fs.readFile(path),
  readText: (path) => fs.readFile(path, 'utf8'),
  readTextIfPresent: (path) => unlessMissing(fs.readFile(path, 'utf8')),
  async write(path, content, { mode = 0o600, survivesPowerCut = true } = {}) {
    const draft = `${path}.${process.pid}.${draftCount++}.draft`
    try {
      await using file = await fs.open(draft, 'wx', mode)
      await file.writeFile(content)
      if (survivesPowerCut) await file.sync()
    } catch (error) {
      await fs.rm(draft, { force: true })
      throw error
    }
    await fs.rename(draft, path)
    if (survivesPowerCut) await syncDirectory(dirname(path))
  },
  append: (path, content, { mode = 0o600 } = {}) => fs.appendFile(path, content, { mode }),
  makeDirectory: (path, { mode = 0o700 } = {}) => makeDirectories(path, mode),
  async *names(path) {
    const directory = await unlessMissing(fs.opendir(path))
    if (directory !== undefined) for await (const { name } of directory) yield name
  },
  usage: directoryUsage,
  list: async (path) => ((await unlessMissing(fs.readdir(path))) ?? []).sort(),
  stat: async (path) => fileStat(await unlessMissing(fs.lstat(path))),
  statTarget: async (path) => fileStat(await unlessMissing(fs.stat(path))),
  realPath: (path) => unlessMissing(fs.realpath(path)),
  rename: (from, to) => fs.rename(from, to),
  async remove(path) {
    // Node would begin with all of a directory at once; the system's program takes what is in it a few at a time, beside us.
    if ((await holdsMany(path)) && (await removedByProgram(path))) return
    try {
      // Somebody may still be at its last file in there.
      await fs.rm(path, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 })
    } catch (error) {
      // Deeper than a path can say: whoever may write there can make it so. The system's program goes down step by step.
      if (!hasCode(error, 'ENAMETOOLONG') || !(await removedByProgram(path))) throw error
    }
  },
  async removeOne(path) {
    const stat = await unlessMissing(fs.lstat(path))
    if (stat !== undefined) await unlessMissing(stat.isDirectory() ? fs.rmdir(path) : fs.unlink(path))
  },
  symlink: (target, path) => fs.symlink(target, path),
  readLink: (path) => unlessMissing(fs.readlink(path)),
  setMode: (path, mode) => fs.chmod(path, mode),
  setOwner: (path, uid, gid) =>
    fs.lchown(path, uid, gid).catch((error: unknown) => {
      if (!hasCode(error, 'EINVAL')) throw error
      throw new Error(`${path} cannot be given to user ${uid}, group ${gid}: the user namespace of this process has no such user`, {
        cause: error,
      })
    }),
  mayWrite: (path) =>
    fs.access(path, constants.W_OK).then(
      () => true,
      () => false,
    ),
  async createExclusive(path, content, { mode = 0o600 } = {}) {
    try {
      await fs.writeFile(path, content, { flag: 'wx', mode })
      return true
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false
      throw error
    }
  },
  pinBelow,
  makeDirectoriesBelow,
  watch(path, onChange) {
    // A file that is replaced by another is a new one, which a watch of the old one does not see: its directory does.
    const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
    const watcher: FSWatcher = watchPath(isDirectory ? path : dirname(path), { persistent: false }, (_event, name) =>
      onChange(name ?? undefined),
    )
    watcher.on('error', () => onChange())
    return { [Symbol.dispose]: () => watcher.close() }
  },
  async open(path, flags, mode = 0o600) {
    const handle = await fs.open(path, flags, mode)
    return {
      writeAtOnce(content) {
        for (let at = 0; at < content.length; ) at += writeSync(handle.fd, content, at)
      },
      async readAt(position, sizeBytes) {
        const buffer = Buffer.allocUnsafe(sizeBytes)
        let filled = 0
        while (filled < sizeBytes) {
          const { bytesRead } = await handle.read(buffer, filled, sizeBytes - filled, position + filled)
          if (bytesRead === 0) break
          filled += bytesRead
        }
        return buffer.subarray(0, filled)
      },
      async write(content) {
        await handle.writeFile(content)
      },
      sizeBytes: async () => (await handle.stat()).size,
      sync: () => handle.datasync(),
      close: () => handle.close(),
      [Symbol.asyncDispose]: () => handle.close(),
    }
  },
  async openForOutput(path) {
    const handle = await fs.open(path, 'a', 0o600)
    return { descriptor: handle.fd, close: () => handle.close() }
  },
  temporaryDirectory: (prefix) => fs.mkdtemp(join(process.env['TMPDIR'] ?? process.env['TEMP'] ?? '/tmp', prefix)),
}

let draftCount = 0
const removalTries = 3

/** False where there is no such program. */
async function removedByProgram(path: string): Promise<boolean> {
  let why = ''
  // Somebody may still be at its last file in there.
  for (let tries = 0; tries < removalTries; tries++) {
    const result = await unlessMissing(nodeProcesses.run('rm', ['-rf', '--', path]))
    if (result === undefined) return false
    if (result.exitCode === 0) return true
    why = result.stderr.trim()
  }
  throw new Error(`${path} could not be removed: ${why.slice(0, longestComplaint)}`)
}

const longestComplaint = 1024

function fileStat(stat: Stats | undefined): FileStat | undefined {
  if (stat === undefined) return undefined
  return {
    kind: kindOf(stat),
    sizeBytes: stat.size,
    allocatedBytes: stat.blocks * 512,
    modifiedMs: stat.mtimeMs,
    mode: stat.mode & 0o7777,
    uid: stat.uid,
    gid: stat.gid,
    inode: stat.ino,
    device: stat.dev,
    ...(stat.isBlockDevice() || stat.isCharacterDevice() ? { deviceNumber: deviceNumber(stat.rdev) } : {}),
  }
}

/** As Linux packs the two into one. */
const deviceNumber = (packed: number) => ({ major: (packed >>> 8) & 0xfff, minor: (packed & 0xff) | ((packed >>> 12) & 0xfff00) })

function kindOf(stat: Stats): FileStat['kind'] {
  if (stat.isFile()) return 'file'
  if (stat.isDirectory()) return 'directory'
  if (stat.isSymbolicLink()) return 'symlink'
  if (stat.isSocket()) return 'socket'
  if (stat.isCharacterDevice()) return 'characterDevice'
  return stat.isBlockDevice() ? 'blockDevice' : 'other'
}

/** Makes a rename in the directory durable; platforms that cannot open directories do it by themselves. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  await using directory = await fs.open(path, constants.O_RDONLY)
  await directory.sync()
}

async function unlessMissing<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined
    throw error
  }
}

/** Whether a system call failed with this code: `ENOENT`, `EADDRINUSE`, … */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** Not by Node's own `recursive`: it tries for ever where a directory that is there takes none inside it, as /proc does. */
async function makeDirectories(path: string, mode: number): Promise<void> {
  try {
    await makeOneDirectory(path, mode)
  } catch (error) {
    const parent = dirname(path)
    if (!hasCode(error, 'ENOENT') || parent === path) throw error
    // Where the parent is there by now, somebody else has made it meanwhile, or it takes none inside it: one more try tells.
    if ((await unlessMissing(fs.stat(parent))) === undefined) await makeDirectories(parent, mode)
    await makeOneDirectory(path, mode)
  }
}

async function makeOneDirectory(path: string, mode: number): Promise<void> {
  try {
    await fs.mkdir(path, { mode })
  } catch (error) {
    if (!hasCode(error, 'EEXIST') || !(await fs.stat(path)).isDirectory()) throw error
  }
}
