/** What a container sees of its pod's volumes. */

import type { V1Container, V1Pod, V1VolumeMount } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { expandVariables, TextLimit } from '#kubelet/environment/expand-variables.ts'
import type { ContainerPlan, Mount } from '#kubelet/runtimes/plans.ts'
import type { PodVolumes, ReadyVolume } from '#kubelet/volumes/pod-volumes.ts'
import { bindSubPath, makeSubPath } from '#kubelet/volumes/sub-paths.ts'
import { podUid } from '#kubelet/volumes/volume-plugin.ts'

/** What the kernel takes, with the zero at its end. */
const longestPath = 4096

export type ContainerMountsTools = {
  volumes: PodVolumes
  images?: ReadonlyMap<string, ReadyVolume>
  logger: Logger
  supportsRecursiveReadOnly: boolean
}

/** Rejects with upstream's words, which say nothing about the node's own files. */
export async function volumeMounts(
  pod: V1Pod,
  container: V1Container,
  variables: ReadonlyMap<string, string>,
  tools: ContainerMountsTools,
): Promise<Mount[]> {
  const mounts: Mount[] = []
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const volume = tools.images?.get(mount.name) ?? tools.volumes.ready(podUid(pod), mount.name)
    if (volume === undefined) throw new Error(`cannot find volume ${quoted(mount.name)} to mount into container ${quoted(container.name)}`)
    const subPath = subPathOf(mount, variables)
    const hostPath =
      subPath === '' || volume.image !== undefined
        ? volume.path
        : await preparedSubPath(pod, container, mount, index, volume, subPath, tools)
    const propagation = propagationOf(mount)
    if (propagation !== 'private' && volume.image === undefined) await shareMounts(hostPath, pod, tools)
    const isRecursivelyReadOnly = mustBeRecursivelyReadOnly(mount, tools.supportsRecursiveReadOnly)
    mounts.push({
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      hostPath,
      isReadOnly: (mount.readOnly ?? false) || volume.isReadOnly,
      propagation,
      ...omitEmpty({ isRecursivelyReadOnly, mustRelabel: volume.isManaged }),
      ...defined({ image: volume.image === undefined ? undefined : { ...volume.image, subPath } }),
    })
  }
  return mounts
}

/** Where nothing is shared by default, as systemd has it, runtimes refuse what is to be propagated. */
async function shareMounts(hostPath: string, { metadata }: V1Pod, { volumes, logger }: ContainerMountsTools): Promise<void> {
  const { files, mounts } = volumes.tools
  const place = await mounts.share((await files.realPath(hostPath)) ?? hostPath)
  if (place !== undefined) logger.info('made a mount shared so that mounts can propagate', { mount: place, pod: metadata.name })
}

/** Volumes that the container sees as disks. */
export function volumeDevices(pod: V1Pod, container: V1Container, volumes: PodVolumes): NonNullable<ContainerPlan['devices']> {
  return (container.volumeDevices ?? []).map(({ name, devicePath: containerPath }) => {
    const { devicePath: hostPath, isReadOnly = false } = volumes.ready(podUid(pod), name) ?? {}
    if (hostPath === undefined) throw new Error(`cannot find volume ${quoted(name)} to pass into container ${quoted(container.name)}`)
    return { containerPath, hostPath, permissions: isReadOnly ? 'r' : 'mrw' }
  })
}

function subPathOf({ subPath = '', subPathExpr = '' }: V1VolumeMount, variables: ReadonlyMap<string, string>): string {
  const missing = new Set<string>()
  const expanded =
    subPathExpr === ''
      ? subPath
      : expandVariables(
          subPathExpr,
          new TextLimit().counting((name) => {
            const value = variables.get(name) ?? ''
            if (value === '') missing.add(name)
            return value
          }),
        )
  if (missing.size > 0) throw new Error(`missing value for ${[...missing].sort().join(', ')}`)
  if (expanded.length >= longestPath) throw new Error(`unable to provision SubPath of ${expanded.length} bytes: file name too long`)
  if (expanded.startsWith('/')) throw new Error(`error SubPath \`${expanded}\` must not be an absolute path`)
  if (expanded.split('/').includes('..')) throw new Error(`unable to provision SubPath \`${expanded}\`: must not contain '..'`)
  return expanded
}

async function preparedSubPath(
  pod: V1Pod,
  container: V1Container,
  { name }: V1VolumeMount,
  index: number,
  volume: ReadyVolume,
  subPath: string,
  { volumes, logger }: ContainerMountsTools,
): Promise<string> {
  const { files, directories } = volumes.tools
  const part = { volumePath: volume.path, subPath, target: directories.subPath(podUid(pod), name, container.name, index) }
  const of = `for volumeMount ${quoted(name)} of container ${quoted(container.name)}`
  // What went wrong in detail is for the node's own log: it may tell of files the pod must not know of.
  const failing = (what: string) => (error: unknown) => {
    logger.warn('failed to prepare subPath of volume for container', { pod: podUid(pod), volume: name, subPath, error: String(error) })
    throw new Error(`${what} ${of}`)
  }
  await makeSubPath(files, part).catch(failing('failed to create subPath directory'))
  await bindSubPath(volumes.tools, part).catch(failing('failed to prepare subPath'))
  return part.target
}

const propagations: Record<string, NonNullable<Mount['propagation']>> = {
  None: 'private',
  HostToContainer: 'hostToContainer',
  Bidirectional: 'bidirectional',
}

function propagationOf({ mountPropagation = 'None' }: V1VolumeMount): NonNullable<Mount['propagation']> {
  const propagation = propagations[mountPropagation]
  if (propagation === undefined) throw new Error(`invalid MountPropagation mode: ${quoted(mountPropagation)}`)
  return propagation
}

function mustBeRecursivelyReadOnly(
  { name, readOnly = false, recursiveReadOnly = 'Disabled', mountPropagation = 'None' }: V1VolumeMount,
  isSupported: boolean,
): boolean {
  if (recursiveReadOnly === 'Disabled') return false
  const failed = 'failed to resolve recursive read-only mode:'
  const asked = `${failed} volume ${quoted(name)} requested recursive read-only mode, but it is not`
  if (!readOnly) throw new Error(`${asked} read-only`)
  if (mountPropagation !== 'None') throw new Error(`${asked} compatible with propagation ${quoted(mountPropagation)}`)
  if (recursiveReadOnly === 'IfPossible') return isSupported
  if (recursiveReadOnly !== 'Enabled') throw new Error(`${failed} unknown recursive read-only mode ${quoted(recursiveReadOnly)}`)
  if (!isSupported) throw new Error(`${asked} supported by the runtime`)
  return true
}
