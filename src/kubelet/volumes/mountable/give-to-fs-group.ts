import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Files } from '#base/files.ts'
import { giveToFsGroup } from '#kubelet/volumes/fs-group.ts'

/** With `OnRootMismatch` all is taken to be right when the volume's own directory is: what is large is not gone through again. */
export async function giveVolumeToFsGroup(directory: string, pod: V1Pod, { files }: { files: Files }): Promise<void> {
  const { fsGroup, fsGroupChangePolicy = 'Always' } = pod.spec.securityContext ?? {}
  if (fsGroup === undefined) return
  if (fsGroupChangePolicy === 'OnRootMismatch') {
    const stat = await files.stat(directory)
    const wanted = 0o2770
    if (stat?.gid === fsGroup && (stat.mode & wanted) === wanted) return
  }
  await giveToFsGroup(files, directory, pod, false)
}
