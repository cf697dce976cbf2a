/** Gives what is in a volume to the group that all processes of the pod are in. What only lives as long as the pod knows no change policy. */
import { join } from 'node:path'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { FileStat, Files } from '#base/files.ts'

const setgid = 0o2000

/** Everything at and below the directory, itself last: when its own group is right, all of it is. Links are not followed. */
export async function giveToFsGroup(files: Files, directory: string, pod: V1Pod, isReadOnly: boolean): Promise<void> {
  const group = pod.spec.securityContext?.fsGroup
  if (group === undefined) return
  const stat = await files.stat(directory)
  if (stat !== undefined) await give(files, directory, stat, group, isReadOnly)
}

async function give(files: Files, path: string, stat: FileStat, group: number, isReadOnly: boolean): Promise<void> {
  const isDirectory = stat.kind === 'directory'
  if (isDirectory) {
    const directories: string[] = []
    for await (const name of files.names(path)) {
      const child = join(path, name)
      const childStat = await files.stat(child)
      if (childStat?.kind === 'directory') directories.push(child)
      else if (childStat !== undefined) await give(files, child, childStat, group, isReadOnly)
    }
    // When this one is closed: as many as there are on the way down would be open at a time.
    for (const child of directories) {
      const childStat = await files.stat(child)
      if (childStat !== undefined) await give(files, child, childStat, group, isReadOnly)
    }
  }
  await files.setOwner(path, -1, group)
  // A link has no mode of its own: setting it would change what it leads to.
  if (stat.kind === 'symlink') return
  await files.setMode(path, stat.mode | (isReadOnly ? 0o440 : 0o660) | (isDirectory ? setgid | 0o110 : 0))
}

/** The user that all containers run as, where they agree. */
export function commonUser({ spec }: V1Pod): number | undefined {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])]
  const users = new Set(containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser))
  const [user] = users
  return users.size === 1 ? user : undefined
}
