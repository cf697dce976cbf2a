/** Images as volumes: what is in them, read-only. */

import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import type { Mounts } from '#base/mounts.ts'
import type { ContainerContext } from '#kubelet/pod-worker/runtime-helper.ts'
import type { ImageSource } from '#kubelet/runtime-helper/node-runtime-helper.ts'
import type { PodDirectories } from '#kubelet/runtime-helper/pod-directories.ts'
import type { ReadyVolume } from '#kubelet/volumes/pod-volumes.ts'
import { podUid } from '#kubelet/volumes/volume-plugin.ts'

/** Shows what is in an image that the runtime has. */
export type ImageMounter = {
  /** The runtime mounts images into containers by itself. */
  isNative: boolean
  /** For runtimes that do not. The target is an empty directory. */
  mount(image: string, imageRef: string, target: string): Promise<void>
}

export type ImageVolumesOptions = {
  images: ImageSource
  mounter: ImageMounter | undefined
  files: Files
  mounts: Mounts
  directories: PodDirectories
}

const pluginName = 'kubernetes.io/image'

/** Fetches the images that the container mounts; resolves with where each is, by the name of its volume. Rejects as for its own image. */
export async function imageVolumes(
  pod: V1Pod,
  container: V1Container,
  context: ContainerContext,
  signal: AbortSignal,
  options: ImageVolumesOptions,
): Promise<Map<string, ReadyVolume>> {
  const { images, mounter, files, mounts, directories } = options
  const found = new Map<string, ReadyVolume>()
  const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name))
  for (const { name, image } of pod.spec.volumes ?? []) {
    if (image === undefined || !mounted.has(name)) continue
    const { reference = '', pullPolicy } = image
    const asContainer: V1Container = {
      name: container.name,
      image: reference,
      ...defined({ imagePullPolicy: pullPolicy }),
    }
    const imageRef = await images.ensureImage(pod, asContainer, context.tell, signal)
    if (mounter === undefined) throw new Error(`volume ${quoted(name)}: the container runtime cannot mount images`)
    if (mounter.isNative) {
      found.set(name, { path: '', isReadOnly: true, isManaged: false, image: { reference, imageRef } })
      continue
    }
    const target = directories.volume(podUid(pod), pluginName, name)
    if (!(await mounts.below(target)).includes(target)) {
      await files.makeDirectory(target, { mode: 0o755 })
      await mounter.mount(reference, imageRef, target)
    }
    found.set(name, { path: target, isReadOnly: true, isManaged: false })
  }
  return found
}
