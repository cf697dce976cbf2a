import { dirname } from 'node:path'
import type { V1HostPathVolumeSource } from '#api/core/v1/types.gen.ts'
import type { FileStat, Files } from '#base/files.ts'
import type { VolumePlugin } from '#kubelet/volumes/volume-plugin.ts'

/** What is on the node itself; never made to fit the pod, and never taken down. */
export const hostPathVolume: VolumePlugin = {
  source: 'hostPath',
  name: 'kubernetes.io/host-path',
  isReadOnly: false,
  isManaged: false,
  mirrorsObjects: false,
  pathOf: ({ hostPath }) => hostPath?.path ?? '',
  setUp: ({ hostPath = { path: '' } }, _pod, { files }) => checkHostPath(hostPath, files),
}

/** Makes what is missing, where the type says so; rejects where something else is there. */
export async function checkHostPath({ path, type = '' }: V1HostPathVolumeSource, files: Files): Promise<void> {
  if (path.split('/').includes('..')) throw new Error(`invalid HostPath \`${path}\`: must not contain '..'`)
  if (type !== '') await checkType(files, path, type)
}

const wanted: Record<string, { kind: FileStat['kind']; text: string }> = {
  DirectoryOrCreate: { kind: 'directory', text: 'a directory' },
  Directory: { kind: 'directory', text: 'a directory' },
  FileOrCreate: { kind: 'file', text: 'a file' },
  File: { kind: 'file', text: 'a file' },
  Socket: { kind: 'socket', text: 'a socket file' },
  CharDevice: { kind: 'characterDevice', text: 'a character device' },
  BlockDevice: { kind: 'blockDevice', text: 'a block device' },
}

async function checkType(files: Files, path: string, type: string): Promise<void> {
  const rule = wanted[type]
  if (rule === undefined) throw new Error(`${type} is an invalid volume type`)
  const stat = await files.statTarget(path)
  if (stat?.kind === rule.kind) return
  if (stat === undefined && type === 'DirectoryOrCreate') return files.makeDirectory(path, { mode: 0o755 })
  if (stat === undefined && type === 'FileOrCreate') {
    // The directory it lies in is not made.
    if ((await files.statTarget(dirname(path))) === undefined) throw new Error(`open ${path}: no such file or directory`)
    await files.createExclusive(path, '', { mode: 0o644 })
    return
  }
  throw new Error(`hostPath type check failed: ${path} is not ${rule.text}`)
}
