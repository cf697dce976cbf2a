/** Files that change all at once: what readers see is links into a directory that is swapped as a whole. */

import { join, normalize } from 'node:path'
import { append } from '#base/append.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Random } from '#base/random.ts'

export type ProjectedFile = {
  content: Uint8Array
  mode: number
  /** Who shall own it, where that is not the kubelet. */
  owner?: number
}

/** By path, relative to the volume. */
export type ProjectedFiles = Map<string, ProjectedFile>

export type AtomicDirectoryTools = { files: Files; clock: Clock; random: Random }

const current = '..data'
const next = '..data_tmp'
const longestName = 255
const longestPath = 4096
/** Hundreds of paths of thousands of directories each would take as many gigabytes; nobody's go deeper. */
const deepest = 256

/**
 * ```
 * name    -> ..data/name
 * ..data  -> ..2026_01_02_03_04_05.1234567890   (swapped by one rename)
 * ```
 * Programs in containers watch `..data`. Does nothing when the files are there already; `beforeSwap` may set owners and modes.
 */
export async function writeAtomically(
  directory: string,
  projected: ProjectedFiles,
  { files, clock, random }: AtomicDirectoryTools,
  beforeSwap: () => Promise<void>,
): Promise<void> {
  const wanted = checked(projected)
  const shown = await files.readLink(join(directory, current))
  const old = shown === undefined ? undefined : join(directory, shown)
  const oldPaths = old === undefined ? [] : await pathsBelow(files, old)
  const isCurrent = old !== undefined && (await isSame(files, old, oldPaths, wanted))
  let latest = shown
  if (!isCurrent) {
    latest = timestamped(clock.now(), random)
    await writeFiles(files, join(directory, latest), wanted)
    await beforeSwap()
    // One that a crash has left behind.
    await files.removeOne(join(directory, next))
    await files.symlink(latest, join(directory, next))
    await files.rename(join(directory, next), join(directory, current))
  }
  await showLinks(files, directory, wanted)
  const shownNames = new Set([...wanted.keys()].map(firstName))
  for (const name of new Set(oldPaths.map(firstName))) if (!shownNames.has(name)) await files.removeOne(join(directory, name))
  for (const name of await files.list(directory)) {
    if (/^\.\.\d{4}_/.test(name) && name !== latest) await files.remove(join(directory, name))
  }
}

function checked(projected: ProjectedFiles): ProjectedFiles {
  const clean: ProjectedFiles = new Map()
  for (const [path, file] of projected) {
    const problem = problemOf(path)
    if (problem !== undefined) throw new Error(`invalid path: ${problem}`)
    clean.set(normalize(path), file)
  }
  return clean
}

function problemOf(path: string): string | undefined {
  if (path === '') return 'must not be empty: ""'
  if (path.startsWith('/')) return `must be relative path: ${path}`
  if (Buffer.byteLength(path) > longestPath) return `must be less than or equal to ${longestPath} characters`
  const names = path.split('/')
  if (names.length > deepest) return `must not be deeper than ${deepest} directories`
  if (names.includes('..')) return `must not contain '..': ${path}`
  if (names.some((name) => Buffer.byteLength(name) > longestName))
    return `filenames must be less than or equal to ${longestName} characters`
  return path.startsWith('..') ? `must not start with '..': ${path}` : undefined
}

async function isSame(files: Files, directory: string, present: readonly string[], wanted: ProjectedFiles): Promise<boolean> {
  const paths = new Set(wanted.keys())
  for (const path of wanted.keys()) addParents(path, paths)
  if (present.some((path) => !paths.has(path))) return false
  const has = new Set(present)
  for (const [path, { content }] of wanted) {
    if (!has.has(path) || !Buffer.from(content).equals(await files.read(join(directory, path)))) return false
  }
  return true
}

async function writeFiles(files: Files, directory: string, wanted: ProjectedFiles): Promise<void> {
  await makeReadableDirectory(files, directory)
  const made = new Set<string>()
  for (const [path, { content, mode, owner }] of wanted) {
    for (const parent of addParents(path, made)) await makeReadableDirectory(files, join(directory, parent))
    const file = join(directory, path)
    await files.createExclusive(file, content, { mode })
    await files.setMode(file, mode)
    if (owner !== undefined) await files.setOwner(file, owner, -1)
  }
}

/** What making it was told has been narrowed by the process's mask. */
async function makeReadableDirectory(files: Files, path: string): Promise<void> {
  await files.makeDirectory(path, { mode: 0o755 })
  await files.setMode(path, 0o755)
}

async function showLinks(files: Files, directory: string, wanted: ProjectedFiles): Promise<void> {
  const shown = new Set(await files.list(directory))
  for (const [path, { owner }] of wanted) {
    const name = firstName(path)
    if (shown.has(name)) continue
    shown.add(name)
    await files.symlink(join(current, name), join(directory, name))
    if (owner !== undefined) await files.setOwner(join(directory, name), owner, -1)
  }
}

async function pathsBelow(files: Files, directory: string, prefix = ''): Promise<string[]> {
  const paths: string[] = []
  for (const name of await files.list(join(directory, prefix))) {
    const path = join(prefix, name)
    paths.push(path)
    if ((await files.stat(join(directory, path)))?.kind === 'directory') append(paths, await pathsBelow(files, directory, path))
  }
  return paths
}

/** Of `a/b/c` `a` and `a/b`, as far as they are not known yet, the uppermost first: one that is known has its own known too. */
function addParents(path: string, known: Set<string>): string[] {
  const added: string[] = []
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const parent = path.slice(0, end)
    if (known.has(parent)) break
    known.add(parent)
    added.push(parent)
  }
  return added.reverse()
}

const firstName = (path: string): string => path.split('/')[0] ?? path

function timestamped(nowMs: number, random: Random): string {
  const [date = '', time = ''] = new Date(nowMs).toISOString().split('T')
  return `..${date.replaceAll('-', '_')}_${time.slice(0, 8).replaceAll(':', '_')}.${String(random.int(1e10)).padStart(10, '0')}`
}
