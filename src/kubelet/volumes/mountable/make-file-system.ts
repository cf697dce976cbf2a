/** Disks, formatted when they are empty, and mounted. */
import { quoted } from '#api/meta/check.ts'
import type { Files } from '#base/files.ts'
import type { Mounts } from '#base/mounts.ts'
import type { Processes } from '#base/processes.ts'
import { isMounted } from '#kubelet/volumes/mountable/bind-mount.ts'

export type DiskMount = { device: string; target: string; fsType: string; isReadOnly: boolean; options?: readonly string[] }

type DiskTools = { files: Files; mounts: Mounts; processes: Processes }

/** What is on a disk already stays, and is checked first; one with something else on it is refused. */
export async function makeFileSystem({ device, target, fsType, isReadOnly, options = [] }: DiskMount, tools: DiskTools): Promise<void> {
  const { files, mounts, processes } = tools
  if (await isMounted(mounts, target)) return
  await files.makeDirectory(target, { mode: 0o750 })
  const present = await formatOf(device, processes)
  if (present === undefined) {
    if (isReadOnly) throw new Error(`cannot mount unformatted disk ${device} as it is in read-only mode`)
    await format(device, fsType, processes)
  } else if (!isReadOnly && present === fsType && fsType.startsWith('ext')) {
    await repair(device, processes)
  }
  const all = ['defaults', ...(isReadOnly ? ['ro'] : []), ...(fsType === 'xfs' ? ['nouuid'] : []), ...options]
  try {
    await mounts.mount({ source: device, path: target, type: present ?? fsType, options: all })
  } catch (error) {
    if (present === undefined || present === fsType) throw error
    throw new Error(`failed to mount the volume as ${quoted(fsType)}, it already contains ${present}. Mount error: ${String(error)}`)
  }
}

/** Undefined for a disk with nothing on it. */
async function formatOf(device: string, processes: Processes): Promise<string | undefined> {
  const { exitCode, stdout, stderr } = await processes.run('blkid', ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device])
  if (exitCode === 2) return undefined
  if (exitCode !== 0) throw new Error(`blkid failed for ${device}: ${stderr.trim()}`)
  const values = new Map(stdout.split('\n').map((line) => line.split('=') as [string, string]))
  if (values.has('PTTYPE') && !values.has('TYPE')) return 'unknown data, probably partitions'
  return values.get('TYPE')
}

async function format(device: string, fsType: string, processes: Processes): Promise<void> {
  // What is never used needs no reserve and no lazy work later.
  const options = fsType.startsWith('ext') ? ['-F', '-m0'] : fsType === 'xfs' || fsType === 'btrfs' ? ['-f'] : []
  const { exitCode, stderr } = await processes.run(`mkfs.${fsType}`, [...options, device]).catch((error: unknown) => {
    throw new Error(`mkfs.${fsType} could not be run: ${String(error)}`, { cause: error })
  })
  if (exitCode !== 0)
    throw new Error(
      `format of disk ${quoted(device)} failed: type:(${quoted(fsType)}) errcode:(exit status ${exitCode}) output:(${stderr.trim()})`,
    )
}

const uncorrected = 4

async function repair(device: string, processes: Processes): Promise<void> {
  // As upstream: a node without fsck mounts without a check.
  const { exitCode, stdout } = await processes.run('fsck', ['-a', device]).catch(() => ({ exitCode: 0, stdout: '' }))
  if (exitCode === uncorrected) throw new Error(`'fsck' found errors on device ${device} but could not correct them: ${stdout.trim()}`)
}

/** Makes the file system at `target` as large as its device has become; does nothing where it is. */
export async function growFileSystem(device: string, target: string, processes: Processes): Promise<void> {
  const kind = await formatOf(device, processes)
  if (kind === undefined) return
  const [program, place] = kind.startsWith('ext') ? ['resize2fs', device] : kind === 'xfs' ? ['xfs_growfs', target] : []
  if (program === undefined || place === undefined)
    throw new Error(`resize of format ${kind} is not supported for device ${device} mounted at ${target}`)
  const { exitCode, stderr } = await processes.run(program, [place])
  if (exitCode !== 0) throw new Error(`${program} ${place} failed: ${stderr.trim()}`)
}
