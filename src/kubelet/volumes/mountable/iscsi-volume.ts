import { join } from 'node:path'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import { bindOnce, isMounted } from '#kubelet/volumes/mountable/bind-mount.ts'
import { giveVolumeToFsGroup } from '#kubelet/volumes/mountable/give-to-fs-group.ts'
import { makeFileSystem } from '#kubelet/volumes/mountable/make-file-system.ts'
import { mountHelper } from '#kubelet/volumes/mountable/mount-helper.ts'
import type { MountPlugin, MountTools } from '#kubelet/volumes/mountable/mount-plugin.ts'
import type { VolumeSource } from '#kubelet/volumes/mountable/volume-spec.ts'

const name = 'kubernetes.io/iscsi'
type Source = NonNullable<VolumeSource['iscsi']>

/** A disk of a machine that speaks iSCSI, by the host's own initiator. */
export const iscsiVolume: MountPlugin = {
  source: 'iscsi',
  name,
  canBlock: true,
  idOf: ({ source }) => `${name}/${diskOf(sourceOf(source))}`,
  async stage({ spec }, tools) {
    const source = sourceOf(spec.source)
    await mountHelper('iscsiadm', 'open-iscsi', tools)
    const device = await logIn(source, tools)
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
    if (spec.isBlock) return { devicePath: await waitForDevice(source, tools) }
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
    for (const portal of portalsOf(source))
      await tools.processes.run('iscsiadm', ['-m', 'node', '-p', portal, '-T', source.iqn, '--logout'])
  },
}

function sourceOf({ iscsi }: VolumeSource): Source {
  if (iscsi === undefined) throw new Error('volume has no iSCSI source')
  return iscsi
}

const withPort = (portal: string): string => (/:\d+$/.test(portal) ? portal : `${portal}:3260`)
const portalsOf = ({ targetPortal, portals = [] }: Source): string[] => [...new Set([targetPortal, ...portals].map(withPort))]
const diskOf = ({ targetPortal, iqn, lun }: Source): string => `${withPort(targetPortal)}:${iqn}:${lun}`
const globalPathOf = (source: Source, { directories }: MountTools): string =>
  join(
    directories.root,
    'plugins',
    name,
    `iface-${source.iscsiInterface || 'default'}`,
    `${withPort(source.targetPortal)}-${source.iqn}-lun-${source.lun}`,
  )
const devicePathOf = ({ iqn, lun }: Source, portal: string): string => `/dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-${lun}`

async function logIn(source: Source, tools: MountTools): Promise<string> {
  const { processes } = tools
  const { iqn, iscsiInterface: iface = 'default' } = source
  const failures: string[] = []
  for (const portal of portalsOf(source)) {
    const run = async (...args: string[]) => {
      const { exitCode, stderr, stdout } = await processes.run('iscsiadm', args)
      // 15: there is a session already.
      if (exitCode !== 0 && exitCode !== 15) throw new Error(`iscsi: ${args.join(' ')} failed: ${(stderr || stdout).trim()}`)
    }
    try {
      await run('-m', 'discoverydb', '-t', 'sendtargets', '-p', portal, '-I', iface, '-o', 'new')
      for (const [key, value] of await chapSettings(source, 'discovery', tools)) {
        await run('-m', 'discoverydb', '-t', 'sendtargets', '-p', portal, '-I', iface, '-o', 'update', '-n', key, '-v', value)
      }
      await run('-m', 'discoverydb', '-t', 'sendtargets', '-p', portal, '-I', iface, '--discover')
      for (const [key, value] of await chapSettings(source, 'node', tools)) {
        await run('-m', 'node', '-p', portal, '-T', iqn, '-I', iface, '-o', 'update', '-n', key, '-v', value)
      }
      await run('-m', 'node', '-p', portal, '-T', iqn, '-I', iface, '--login')
    } catch (error) {
      failures.push(String(error))
    }
  }
  if (failures.length === portalsOf(source).length)
    throw new Error(`failed to get any path for iscsi disk, last err seen: ${failures.at(-1)}`)
  return waitForDevice(source, tools)
}

const deviceTries = 10

async function waitForDevice(source: Source, { files, clock }: MountTools): Promise<string> {
  for (let tries = 0; tries < deviceTries; tries++) {
    for (const portal of portalsOf(source)) {
      const path = devicePathOf(source, portal)
      if ((await files.statTarget(path)) !== undefined) return path
    }
    await clock.sleep(1000)
  }
  throw new Error(`Could not attach disk: Timeout after ${deviceTries}s waiting for ${devicePathOf(source, withPort(source.targetPortal))}`)
}

/** Passwords for finding targets, and for using them. */
async function chapSettings(source: Source, phase: 'discovery' | 'node', { client }: MountTools): Promise<[string, string][]> {
  const { chapAuthDiscovery = false, chapAuthSession = false, secretRef } = source
  const isOn = phase === 'discovery' ? chapAuthDiscovery : chapAuthSession
  if (!isOn || secretRef === undefined) return []
  const { data = {} } = await client.get(Secret, secretRef.namespace ?? '', secretRef.name ?? '')
  const root = phase === 'discovery' ? 'discovery.sendtargets.auth' : 'node.session.auth'
  const keys = Object.entries(data).filter(([key]) => key.startsWith(`${root}.`))
  return [[`${root}.authmethod`, 'CHAP'], ...keys.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()] as [string, string])]
}
