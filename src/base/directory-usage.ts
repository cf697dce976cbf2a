import { join } from 'node:path'
import type { Files } from '#base/files.ts'

export type DirectoryUsage = { usedBytes: number; inodesUsed: number }

/** What a directory takes up with all that is in it. What goes away meanwhile does not count. */
export async function directoryUsage(files: Pick<Files, 'list' | 'stat'>, directory: string): Promise<DirectoryUsage> {
  const usage = { usedBytes: 0, inodesUsed: 0 }
  const seen = new Set<number>()
  const left = [directory]
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    const stat = await files.stat(path).catch(() => undefined)
    // A file of two names is there once.
    if (stat === undefined || seen.has(stat.inode)) continue
    seen.add(stat.inode)
    usage.inodesUsed++
    usage.usedBytes += stat.allocatedBytes
    if (stat.kind !== 'directory') continue
    // A directory that goes while it is measured has nothing in it.
    for (const name of await files.list(path).catch(() => [])) left.push(join(path, name))
  }
  return usage
}
