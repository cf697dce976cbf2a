import { join } from 'node:path'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { bindOnce, isMounted } from '#kubelet/volumes/mountable/bind-mount.ts'
import { giveVolumeToFsGroup } from '#kubelet/volumes/mountable/give-to-fs-group.ts'
import { makeFileSystem } from '#kubelet/volumes/mountable/make-file-system.ts'
import { mountHelper } from '#kubelet/volumes/mountable/mount-helper.ts'
import type { MountPlugin, MountTools } from '#kubelet/volumes/mountable/mount-plugin.ts'
import type { VolumeSource } from '#kubelet/volumes/mountable/volume-spec.ts'

const name = 'kubernetes.io/rbd'
type Source = NonNullable<VolumeSource['rbd']>

/** An image of a Ceph cluster, as a disk. */
export const rbdVolume: MountPlugin = {
  source: 'rbd',
  name,
  canBlock: true,
  idOf: ({ source }) => `${name}/${imageOf(sourceOf(source))}`,
  async stage({ spec }, tools) {
    const source = sourceOf(spec.source)
    await mountHelper('rbd', 'ceph-common', tools)
    const device = await map(source, spec.isReadOnly, tools)
    if (spec.isBlock) return
    const disk = {
      device,
      target: globalPathOf(source, tools),
      fsType: source.fsType || 'ext4',
      isReadOnly: spec.isReadOnly,
      options: spec.mountOptions,
    }
    await makeFileSystem(disk, tools)
  },
  async publish({ spec, pod, target, isFirst }, tools) {
    const source = sourceOf(spec.source)
    if (spec.isBlock) return { devicePath: await map(source, spec.isReadOnly, tools) }
    const wasMounted = await isMounted(tools.mounts, target)
    await bindOnce(tools, { source: globalPathOf(source, tools), target, isReadOnly: spec.isReadOnly || (source.readOnly ?? false) })
    if (isFirst && !wasMounted && !spec.isReadOnly) await giveVolumeToFsGroup(target, pod, tools)
    return undefined
  },
  async unstage({ source: all }, tools) {
    const source = sourceOf(all)
    const global = globalPathOf(source, tools)
    if (await isMounted(tools.mounts, global)) await tools.mounts.unmount(global)
    await tools.files.removeOne(global)
    const device = await deviceThere(source, tools)
    if (device === undefined) return
    const { exitCode, stderr } = await tools.processes.run('rbd', ['unmap', device])
    if (exitCode !== 0) throw new Error(`rbd: failed to unmap device ${device}: ${stderr.trim()}`)
  },
}

function sourceOf({ rbd }: VolumeSource): Source {
  if (rbd === undefined) throw new Error('volume has no RBD source')
  return rbd
}

const imageOf = ({ pool = 'rbd', image }: Source): string => `${pool || 'rbd'}/${image}`
const globalPathOf = (source: Source, { directories }: MountTools): string =>
  join(directories.root, 'plugins', name, 'mounts', imageOf(source).replace('/', '-image-'))

async function map(source: Source, isReadOnly: boolean, tools: MountTools): Promise<string> {
  const present = await deviceThere(source, tools)
  if (present !== undefined) return present
  const { monitors, user = 'admin', keyring = '/etc/ceph/keyring', secretRef } = source
  const key = await keyOf(secretRef, tools)
  const args = ['map', imageOf(source), '--id', user || 'admin', '-m', monitors.join(',')]
  const { exitCode, stdout, stderr } = await tools.processes.run('rbd', [
    ...args,
    ...(key === undefined ? ['-k', keyring || '/etc/ceph/keyring'] : [`--key=${key}`]),
    ...(isReadOnly || source.readOnly ? ['--read-only'] : []),
  ])
  if (exitCode !== 0) throw new Error(`rbd: map failed exit status ${exitCode}, rbd output: ${quoted(stderr.trim())}`)
  return stdout.trim() || ((await deviceThere(source, tools)) ?? '')
}

/** As the kernel lists what is mapped. */
async function deviceThere(source: Source, { files }: MountTools): Promise<string | undefined> {
  const path = `/dev/rbd/${imageOf(source)}`
  return (await files.statTarget(path)) === undefined ? undefined : path
}

async function keyOf(reference: Source['secretRef'], { client }: MountTools): Promise<string | undefined> {
  if (reference === undefined) return undefined
  const { data = {} } = await client.get(Secret, reference.namespace ?? '', reference.name ?? '')
  const [first] = Object.values(data)
  return first === undefined
    ? undefined
    : Buffer.from(data['key'] ?? first, 'base64')
        .toString()
        .trim()
}
