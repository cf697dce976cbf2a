import { join } from 'node:path'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import type { MountTools } from '#kubelet/volumes/mountable/mount-plugin.ts'
import { networkDisk } from '#kubelet/volumes/mountable/network-disk.ts'
import type { VolumeSource } from '#kubelet/volumes/mountable/volume-spec.ts'

const name = 'kubernetes.io/iscsi'
type Source = NonNullable<VolumeSource['iscsi']>

/** A disk of a machine that speaks iSCSI, by the host's own initiator. */
export const iscsiVolume = networkDisk<Source>({
  source: 'iscsi',
  name,
  sourceOf,
  program: ['iscsiadm', 'open-iscsi'],
  diskOf: ({ targetPortal, iqn, lun }) => `${targetPortal}:${iqn}:${lun}`,
  isBooked: true,
  globalPathOf,
  attach: (source, _, tools) => logIn(source, tools),
  deviceOf: (source, _, tools) => waitForDevice(source, tools),
  async detach(source, { processes }) {
    for (const portal of portalsOf(source)) await processes.run('iscsiadm', ['-m', 'node', '-p', portal, '-T', source.iqn, '--logout'])
  },
})

function sourceOf({ iscsi }: VolumeSource): Source {
  if (iscsi === undefined) throw new Error('volume has no iSCSI source')
  return iscsi
}

const withPort = (portal: string): string => (/:\d+$/.test(portal) ? portal : `${portal}:3260`)
const portalsOf = ({ targetPortal, portals = [] }: Source): string[] => [...new Set([targetPortal, ...portals].map(withPort))]

function globalPathOf({ iscsiInterface, targetPortal, iqn, lun }: Source, { directories }: MountTools): string {
  return join(directories.root, 'plugins', name, `iface-${iscsiInterface || 'default'}`, `${withPort(targetPortal)}-${iqn}-lun-${lun}`)
}

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
