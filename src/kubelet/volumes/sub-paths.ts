/** Parts of volumes for containers. Whoever else can write to the volume must not be able to lead us out of it. */
import { dirname, join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Mounts } from '#base/mounts.ts'

/**
 * Makes `target` show what is at `subPath` in the volume, which is made a directory where nothing is, and resolves with `target`.
 * What is found is held while it is mounted, so that what was checked is what is seen.
 */
export async function bindSubPath({ files, mounts }: { files: Files; mounts: Mounts }, part: SubPath): Promise<void> {
  const { volumePath, subPath, target } = part
  await using held = await files.pinBelow(volumePath, subPath)
  const mountedTimes = (await mounts.below(target)).filter((place) => place === target).length
  if (mountedTimes > 0) {
    const shown = await files.stat(target)
    if (shown?.inode === held.inode && shown.device === held.device) return
    for (let count = 0; count < mountedTimes; count++) await mounts.unmount(target)
  }
  await files.makeDirectory(dirname(target), { mode: 0o750 })
  // Whichever of the two is left from an earlier time may be of the wrong kind.
  await files.removeOne(target)
  if (held.isDirectory) await files.makeDirectory(target, { mode: 0o750 })
  else await files.createExclusive(target, '', { mode: 0o640 })
  await mounts.bind(held.path, target)
}

export type SubPath = { volumePath: string; subPath: string; target: string }

/** Directories have the volume's own mode, so that who may use it may use them. */
export async function makeSubPath(files: Files, { volumePath, subPath }: Pick<SubPath, 'volumePath' | 'subPath'>): Promise<void> {
  // What cannot be looked at is there, and whoever mounts it is told why not.
  const isThere = await files.statTarget(join(volumePath, subPath)).then(
    (stat) => stat !== undefined,
    () => true,
  )
  if (isThere) return
  const stat = await files.statTarget(volumePath)
  await files.makeDirectoriesBelow(volumePath, subPath, stat?.mode ?? 0o750)
}
