import { isMounted } from '#kubelet/volumes/mountable/bind-mount.ts'
import { mountHelper } from '#kubelet/volumes/mountable/mount-helper.ts'
import type { MountPlugin } from '#kubelet/volumes/mountable/mount-plugin.ts'
import { podUid } from '#kubelet/volumes/volume-plugin.ts'

const name = 'kubernetes.io/nfs'

/** A directory of another machine; groups are that machine's business. */
export const nfsVolume: MountPlugin = {
  source: 'nfs',
  name,
  idOf: ({ name: volume }, pod) => `${name}/${podUid(pod)}-${volume}`,
  async publish({ spec, target }, tools) {
    const { server = '', path = '', readOnly = false } = spec.source.nfs ?? {}
    const { files, mounts } = tools
    if (await isMounted(mounts, target)) return undefined
    await mountHelper('mount.nfs', 'nfs-common', tools)
    await files.makeDirectory(target, { mode: 0o750 })
    const options = [...(spec.isReadOnly || readOnly ? ['ro'] : []), ...spec.mountOptions]
    // Addresses of the sixth version have colons of their own.
    const host = server.includes(':') && !server.startsWith('[') ? `[${server}]` : server
    await mounts.mount({ source: `${host}:${path}`, path: target, type: 'nfs', options })
    return undefined
  },
}
