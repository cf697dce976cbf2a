import type { Stats } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { nodeProcesses } from '#base/processes.ts'

export type DirectoryUsage = { usedBytes: number; inodesUsed: number }

/** More than this is left to programs of the system, beside the event loop: whoever may write to a directory may put millions into it. */
const mostEntriesHere = 1000
const patienceMs = 300_000

const underWay = new Map<string, Promise<DirectoryUsage>>()
/** Ends when the program that measures has ended: one at a time. */
let last: Promise<unknown> = Promise.resolve()

/** What a directory takes up with all that is in it. What goes away meanwhile does not count. Who asks while it is measured shares the answer. */
export function directoryUsage(directory: string): Promise<DirectoryUsage> {
  const known = underWay.get(directory)
  if (known !== undefined) return known
  const measured = measure(directory).finally(() => underWay.delete(directory))
  underWay.set(directory, measured)
  return measured
}

async function measure(directory: string): Promise<DirectoryUsage> {
  const few = await walk(directory, mostEntriesHere)
  if (few !== undefined) return few
  const measuring = last.then(() => measuredByProgram(directory))
  last = measuring
  return (await measuring) ?? (await walk(directory, Number.POSITIVE_INFINITY)) ?? { usedBytes: 0, inodesUsed: 0 }
}

/** Undefined where that program is not there, is another one than that of most systems, or takes too long. */
async function measuredByProgram(directory: string): Promise<DirectoryUsage | undefined> {
  const [usedBytes, inodesUsed] = [await total(['--block-size=1'], directory), await total(['--inodes'], directory)]
  return usedBytes === undefined || inodesUsed === undefined ? undefined : { usedBytes, inodesUsed }
}

async function total(options: readonly string[], directory: string): Promise<number | undefined> {
  // Files that go away under it change its exit code, and not what it has counted.
  const answer = await nodeProcesses
    .run('nice', ['du', '--summarize', ...options, '--', directory], { timeoutMs: patienceMs })
    .catch(() => undefined)
  const [, digits] = /^(\d+)\s/.exec(answer?.stdout ?? '') ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** Undefined where there are more than `most`. */
async function walk(directory: string, most: number): Promise<DirectoryUsage | undefined> {
  const usage = { usedBytes: 0, inodesUsed: 0 }
  const seen = new Set<number>()
  const left: string[] = []
  const add = async (path: string) => {
    const stat: Stats | undefined = await lstat(path).catch(() => undefined)
    if (stat === undefined) return
    const isDirectory = stat.isDirectory()
    // A file of two names is there once.
    if (!isDirectory && stat.nlink > 1) {
      if (seen.has(stat.ino)) return
      seen.add(stat.ino)
    }
    usage.inodesUsed++
    usage.usedBytes += stat.blocks * 512
    if (isDirectory) left.push(path)
  }
  await add(directory)
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    try {
      for await (const { name } of await opendir(path)) {
        await add(join(path, name))
        if (usage.inodesUsed > most) return undefined
      }
    } catch {
      // A directory that goes while it is measured has nothing in it.
    }
  }
  return usage
}

/** Whether there is so much below a directory that it is not to be taken into memory. */
export async function holdsMany(directory: string): Promise<boolean> {
  if (!(await lstat(directory).catch(() => undefined))?.isDirectory()) return false
  const left = [directory]
  let count = 0
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    try {
      for await (const entry of await opendir(path)) {
        if (++count > mostEntriesHere) return true
        if (entry.isDirectory()) left.push(join(path, entry.name))
      }
    } catch {
      // Whoever does something with it hears of what is wrong.
    }
  }
  return false
}
