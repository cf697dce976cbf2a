/** Volumes that pods see as disks: a link in the pod's directory leads to the device. */
import { dirname, join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { PodDirectories } from '#kubelet/runtime-helper/pod-directories.ts'

export const deviceLink = (directories: PodDirectories, uid: string, plugin: string, volume: string): string =>
  join(directories.pod(uid), 'volumeDevices', plugin.replaceAll('/', '~'), volume)

export async function mapDevice({ device, link }: { device: string; link: string }, { files }: { files: Files }): Promise<void> {
  const stat = await files.statTarget(device)
  if (stat?.kind !== 'blockDevice') throw new Error(`${device} is not a block device`)
  if ((await files.readLink(link)) === device) return
  await files.makeDirectory(dirname(link), { mode: 0o750 })
  await files.removeOne(link)
  await files.symlink(device, link)
}

export const unmapDevice = (link: string, files: Files): Promise<void> => files.removeOne(link)
