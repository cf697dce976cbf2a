import { dirname } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Mounts } from '#base/mounts.ts'

/** `target` shows `source` from now on. Does nothing where something is mounted there already. */
export async function bindOnce(
  { files, mounts }: { files: Files; mounts: Mounts },
  { source, target, isReadOnly, options = [] }: { source: string; target: string; isReadOnly: boolean; options?: readonly string[] },
): Promise<void> {
  if (await isMounted(mounts, target)) return
  await files.makeDirectory(dirname(target), { mode: 0o750 })
  const stat = await files.statTarget(source)
  if (stat?.kind === 'directory') await files.makeDirectory(target, { mode: 0o750 })
  else await files.createExclusive(target, '', { mode: 0o640 })
  await mounts.bind(source, target)
  const all = [...(isReadOnly ? ['ro'] : []), ...options]
  if (all.length === 0) return
  try {
    await mounts.remount(target, all)
  } catch (error) {
    await mounts.unmount(target)
    throw error
  }
}

/** By the kernel's own list: what hangs is not touched. */
export async function isMounted(mounts: Mounts, target: string): Promise<boolean> {
  return (await mounts.below(target)).includes(target)
}
