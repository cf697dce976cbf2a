import { Endpoints } from '#api/core/v1/kinds.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { errorMessage } from '#base/error-message.ts'
import { isMounted } from '#kubelet/volumes/mountable/bind-mount.ts'
import { mountHelper } from '#kubelet/volumes/mountable/mount-helper.ts'
import type { MountPlugin, MountTools } from '#kubelet/volumes/mountable/mount-plugin.ts'
import type { VolumeSpec } from '#kubelet/volumes/mountable/volume-spec.ts'
import { podUid } from '#kubelet/volumes/volume-plugin.ts'

const name = 'kubernetes.io/glusterfs'

/** A volume of a Gluster cluster, whose machines an Endpoints object names; mounted through FUSE. */
export const glusterfsVolume: MountPlugin = {
  source: 'glusterfs',
  name,
  idOf: ({ name: volume }, pod) => `${name}/${podUid(pod)}-${volume}`,
  async publish({ spec, target }, tools) {
    const { path = '', readOnly = false } = spec.source.glusterfs ?? {}
    if (await isMounted(tools.mounts, target)) return undefined
    const [first, ...others] = await serversOf(spec, tools)
    if (first === undefined) throw new Error(`glusterfs: no addresses in endpoints ${quoted(spec.source.glusterfs?.endpoints ?? '')}`)
    await mountHelper('mount.glusterfs', 'glusterfs-client', tools)
    await tools.files.makeDirectory(target, { mode: 0o750 })
    const options = [
      ...['log-level=ERROR', 'auto_unmount'],
      ...(others.length > 0 ? [`backup-volfile-servers=${[first, ...others].join(':')}`] : []),
      ...(spec.isReadOnly || readOnly ? ['ro'] : []),
      ...spec.mountOptions,
    ]
    await tools.mounts.mount({ source: `${first}:${path}`, path: target, type: 'glusterfs', options })
    return undefined
  },
}

async function serversOf({ source, claim }: VolumeSpec, { client }: MountTools): Promise<string[]> {
  const { endpoints = '', endpointsNamespace } = source.glusterfs ?? {}
  const namespace = endpointsNamespace || claim?.metadata?.namespace || 'default'
  const { subsets = [] } = await client.get(Endpoints, namespace, endpoints).catch((error: unknown) => {
    throw new Error(`glusterfs: failed to get endpoint ${namespace}/${endpoints}: ${errorMessage(error)}`, { cause: error })
  })
  return [...new Set(subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)))]
}
