import { join } from 'node:path'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import { quoted } from '#api/meta/check.ts'
import type { MountTools } from '#kubelet/volumes/mountable/mount-plugin.ts'
import { networkDisk } from '#kubelet/volumes/mountable/network-disk.ts'
import type { VolumeSource } from '#kubelet/volumes/mountable/volume-spec.ts'

const name = 'kubernetes.io/rbd'
type Source = NonNullable<VolumeSource['rbd']>

/** An image of a Ceph cluster, as a disk. */
export const rbdVolume = networkDisk<Source>({
  source: 'rbd',
  name,
  sourceOf,
  program: ['rbd', 'ceph-common'],
  diskOf: imageOf,
  globalPathOf,
  attach: map,
  deviceOf: map,
  async detach(source, tools) {
    const device = await deviceThere(source, tools)
    if (device === undefined) return
    const { exitCode, stderr } = await tools.processes.run('rbd', ['unmap', device])
    if (exitCode !== 0) throw new Error(`rbd: failed to unmap device ${device}: ${stderr.trim()}`)
  },
})

function sourceOf({ rbd }: VolumeSource): Source {
  if (rbd === undefined) throw new Error('volume has no RBD source')
  return rbd
}

function imageOf({ pool = 'rbd', image }: Source): string {
  return `${pool || 'rbd'}/${image}`
}

function globalPathOf(source: Source, { directories }: MountTools): string {
  return join(directories.root, 'plugins', name, 'mounts', imageOf(source).replace('/', '-image-'))
}

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
