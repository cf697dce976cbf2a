/**
 * Paths below a directory that somebody else may be changing at this moment, such as a container that shares it.
 * Node has no openat, but /proc/self/fd/N/name is the same: the kernel goes to the open directory itself, not to a path.
 */
import { constants, type Stats } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** Something on disk that is held: whoever renames or replaces it meanwhile changes nothing. */
export type PinnedPath = AsyncDisposable & {
  /** Leads to it, for other programs as well, while it is held. */
  readonly path: string
  readonly isDirectory: boolean
  readonly isFile: boolean
  readonly inode: number
  readonly device: number
  readText(limitBytes: number): Promise<string>
}

// Not among Node's constants; the same on every architecture Node runs on.
const openPath = 0x200000
const { O_NOFOLLOW = 0, O_DIRECTORY = 0, O_RDONLY } = constants

export async function pinBelow(base: string, path: string): Promise<PinnedPath> {
  const realBase = await fs.realpath(base)
  const handle = await openBelow(realBase, await fs.realpath(join(realBase, path)))
  try {
    return pinned(handle, await handle.stat())
  } catch (error) {
    await handle.close()
    throw error
  }
}

export async function makeDirectoriesBelow(base: string, path: string, mode: number): Promise<void> {
  const realBase = await fs.realpath(base)
  const names = path.split(sep).filter((name) => name !== '' && name !== '.')
  if (names.includes('..')) throw outside(path, realBase)
  let present = realBase
  while (names.length > 0) {
    const next = await fs.realpath(join(present, names[0] ?? '')).catch(onlyMissing)
    if (next === undefined) break
    present = next
    names.shift()
  }
  let directory = await openBelow(realBase, present)
  try {
    for (const name of names) {
      const child = join(placeOf(directory), name)
      await fs.mkdir(child, { mode })
      const made = await fs.open(child, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      await directory.close()
      directory = made
      // What mkdir was told has been narrowed by the process's mask.
      await directory.chmod(mode)
    }
  } finally {
    await directory.close()
  }
}

/** Goes down component by component, none of which may be a link: `real` has none, unless somebody has just put it there. */
async function openBelow(realBase: string, real: string): Promise<fs.FileHandle> {
  const inside = relative(realBase, real)
  const names = inside.split(sep).filter((name) => name !== '')
  if (names[0] === '..') throw outside(real, realBase)
  let current = await fs.open(realBase, openPath | O_NOFOLLOW)
  try {
    for (const name of names) {
      const next = await fs.open(join(placeOf(current), name), openPath | O_NOFOLLOW)
      await current.close()
      current = next
      if ((await current.stat()).isSymbolicLink()) throw new Error(`there is a link at ${name} on the way to ${real}`)
    }
    return current
  } catch (error) {
    await current.close()
    throw error
  }
}

function pinned(handle: fs.FileHandle, stat: Stats): PinnedPath {
  const path = `/proc/${process.pid}/fd/${handle.fd}`
  return {
    path,
    isDirectory: stat.isDirectory(),
    isFile: stat.isFile(),
    inode: stat.ino,
    device: stat.dev,
    async readText(limitBytes) {
      if (!stat.isFile()) throw new Error('not a regular file')
      await using file = await fs.open(path, O_RDONLY)
      const { bytesRead, buffer } = await file.read(Buffer.alloc(limitBytes), 0, limitBytes, 0)
      return buffer.toString('utf8', 0, bytesRead)
    },
    [Symbol.asyncDispose]: () => handle.close(),
  }
}

const placeOf = (handle: fs.FileHandle): string => `/proc/self/fd/${handle.fd}`

const outside = (path: string, base: string): Error => new Error(`${path} is outside of ${base}`)

function onlyMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw error
}
