/** Whether pods can have users of their own (`hostUsers: false`) on this machine: tried once, as a pod would. */
import { descriptors } from '#base/descriptors.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import { systemCall } from '#base/system-calls.ts'
import { here, openFlags, openTreeFlags } from '#runtime/launch/kernel-numbers.ts'
import type { Launcher } from '#runtime/launch/launcher.ts'
import { mapAttributes, mapFlags } from '#runtime/launch/user-steps.ts'
import { usersProbeScript } from '#runtime/launch/users-probe-script.ts'
import { writeUserMaps } from '#runtime/user-namespace.ts'

export type UsersProbe = {
  launcher: Launcher
  files: Files
  /** Where images and volumes are. */
  directory: string
  isRootless: boolean
}

const anyRange = [{ containerId: 0, hostId: 65_536, length: 65_536 }]
/** Since then layers with other users may lie beneath an overlay. */
const leastKernel = { major: 5, minor: 19 }

/** Undefined where they can. */
export async function whyNoUsers({ launcher, files, directory, isRootless }: UsersProbe): Promise<string | undefined> {
  if (isRootless) return 'the runtime works without root'
  const release = (await files.readText('/proc/sys/kernel/osrelease')).trim()
  const [major = 0, minor = 0] = release.split('.').map(Number)
  if (major < leastKernel.major || (major === leastKernel.major && minor < leastKernel.minor)) {
    return `Linux ${release} has no overlays of idmapped mounts (5.19 or newer has)`
  }
  const onUsers = (pid: number) => {
    writeUserMaps(pid, { uids: anyRange, gids: anyRange })
    mapDirectory(directory, pid)
  }
  try {
    const script = usersProbeScript(launcher.architecture)
    await launcher.launch({ script, name: 'typernetes: user namespaces', streams: ['nothing', 'nothing', 'nothing'], onUsers })
    return undefined
  } catch (error) {
    return errorMessage(error)
  }
}

/** Not every file system can be shown with other users. */
function mapDirectory(directory: string, pid: number): void {
  const namespace = systemCall('openat', here, `/proc/${pid}/ns/user`, openFlags.closeOnExec, 0)
  try {
    const tree = systemCall('open_tree', here, directory, openTreeFlags.clone | openTreeFlags.closeOnExec)
    try {
      const attributes = mapAttributes(namespace)
      systemCall('mount_setattr', tree, '', mapFlags, attributes, attributes.length)
    } catch (error) {
      throw new Error(`idmapped mounts of ${directory}: ${errorMessage(error)}`, { cause: error })
    } finally {
      descriptors.close(tree)
    }
  } finally {
    descriptors.close(namespace)
  }
}
