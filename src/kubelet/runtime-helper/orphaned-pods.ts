/** Taking down what was made for pods, and nothing else: what is mounted there may be anybody's. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Mounts } from '#base/mounts.ts'
import type { PodDirectories } from '#kubelet/runtime-helper/pod-directories.ts'

export type OrphanTools = {
  files: Files
  mounts: Mounts
  logger: Logger
  /** Gives back volumes of other machines first. */
  tearDown?(uid: string): Promise<void>
}

/** Rejects, and removes nothing, while something is still mounted there. */
export async function removePod(tools: OrphanTools, directories: PodDirectories, uid: string): Promise<void> {
  if (!isPlainName(uid)) return
  await tools.tearDown?.(uid)
  await removeUnmounted(tools, directories.pod(uid))
}

/** What containers leave to read stays: their last words. */
export async function removeVolumes(tools: OrphanTools, directories: PodDirectories, uid: string): Promise<void> {
  if (!isPlainName(uid)) return
  // What is mounted from a volume first.
  for (const directory of [directories.subPaths(uid), directories.volumes(uid), directories.plugins(uid)]) {
    await removeUnmounted(tools, directory)
  }
}

async function removeUnmounted({ files, mounts }: OrphanTools, directory: string): Promise<void> {
  if ((await files.stat(directory)) === undefined) return
  for (const place of await mounts.below(directory)) await mounts.unmount(place)
  const [left] = await mounts.below(directory)
  if (left !== undefined) throw new Error(`${left} is still mounted`)
  await files.remove(directory)
}

/** By its uid alone, since that may be all that is known of it. */
export async function removeLogs({ files }: OrphanTools, directories: PodDirectories, uid: string): Promise<void> {
  if (!isPlainName(uid)) return
  for (const name of await files.list(directories.logRoot)) {
    if (uidOfLogs(name) === uid) await files.remove(join(directories.logRoot, name))
  }
}

/** Of pods that are no more: their directories, and their logs. Resolves with those that cannot be removed now. */
export async function removeOrphans(tools: OrphanTools, directories: PodDirectories, isKnown: (uid: string) => boolean): Promise<string[]> {
  const { files, logger } = tools
  const orphans = (await files.list(directories.pods)).filter((uid) => !isKnown(uid))
  // Logs first, and those of our own pods alone: others may write into the same directory.
  for (const uid of orphans) await removeLogs(tools, directories, uid)
  const removals = orphans.map((uid) =>
    removePod(tools, directories, uid).then(
      () => [],
      (error: unknown) => {
        logger.warn('failed to remove orphaned pod directory', { pod: uid, error: String(error) })
        return [uid]
      },
    ),
  )
  // Side by side: one that hangs keeps no other.
  const left = await Promise.all(removals)
  return left.flat()
}

/** `NAMESPACE_NAME_UID`; anything else in the directory is somebody else's. */
export function uidOfLogs(name: string): string | undefined {
  const [namespace, pod, uid, ...rest] = name.split('_')
  return namespace && pod && uid && rest.length === 0 ? uid : undefined
}

const isPlainName = (name: string): boolean => name !== '' && !name.includes('/') && name !== '.' && name !== '..'
