import type { V1Volume } from '#api/core/v1/types.gen.ts'
import type { ProjectedFiles } from '#kubelet/volumes/atomic-directory.ts'
import { type ObjectFiles, orNothing, pickedFiles } from '#kubelet/volumes/config-map.ts'
import { mirroredVolume } from '#kubelet/volumes/mirrored-volume.ts'
import type { VolumeTools } from '#kubelet/volumes/volume-plugin.ts'

export const secretVolume = mirroredVolume({
  source: 'secret',
  name: 'kubernetes.io/secret',
  medium: 'memory',
  content({ secret: { secretName = '', defaultMode = 0o644, ...source } = {} }: V1Volume, { metadata }, tools) {
    return secretFiles({ ...source, name: secretName }, metadata.namespace ?? '', defaultMode, tools)
  },
})

export async function secretFiles(
  { name = '', items = [], optional = false }: ObjectFiles,
  namespace: string,
  defaultMode: number,
  { secrets }: Pick<VolumeTools, 'secrets'>,
): Promise<ProjectedFiles> {
  const { data = {} } = await orNothing(optional, secrets.get(namespace, name))
  const contents = new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64')]))
  return pickedFiles(contents, items, defaultMode, optional, (key) => `references non-existent secret key: ${key}`)
}
