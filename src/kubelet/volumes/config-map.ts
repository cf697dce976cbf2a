import type { V1ConfigMap, V1KeyToPath, V1Volume } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { ProjectedFiles } from '#kubelet/volumes/atomic-directory.ts'
import { mirroredVolume } from '#kubelet/volumes/mirrored-volume.ts'
import type { VolumeTools } from '#kubelet/volumes/volume-plugin.ts'

export const configMapVolume = mirroredVolume({
  source: 'configMap',
  name: 'kubernetes.io/configmap',
  medium: 'disk',
  content: ({ configMap = {} }: V1Volume, { metadata }, tools) =>
    configMapFiles(configMap, metadata.namespace ?? '', configMap.defaultMode ?? 0o644, tools),
})

export type ObjectFiles = { name?: string; items?: V1KeyToPath[]; optional?: boolean }

export async function configMapFiles(
  { name = '', items = [], optional = false }: ObjectFiles,
  namespace: string,
  defaultMode: number,
  { configMaps }: Pick<VolumeTools, 'configMaps'>,
): Promise<ProjectedFiles> {
  const { data = {}, binaryData = {} } = await orNothing(optional, configMaps.get(namespace, name))
  const contents = new Map<string, Uint8Array>()
  for (const [key, value] of Object.entries(data)) contents.set(key, Buffer.from(value))
  for (const [key, value] of Object.entries(binaryData)) contents.set(key, Buffer.from(value, 'base64'))
  return pickedFiles(contents, items, defaultMode, optional, (key) => `configmap references non-existent config key: ${key}`)
}

/** What an optional object that is not there holds: nothing. */
export async function orNothing<T>(optional: boolean, object: Promise<T>): Promise<T | Partial<V1ConfigMap>> {
  try {
    return await object
  } catch (error) {
    if (optional && isNotFound(error)) return {}
    throw error
  }
}

/** All keys under their own names, or those asked for under the names asked for. */
export function pickedFiles(
  contents: ReadonlyMap<string, Uint8Array>,
  items: readonly V1KeyToPath[],
  defaultMode: number,
  optional: boolean,
  missing: (key: string) => string,
): ProjectedFiles {
  if (items.length === 0) return new Map([...contents].map(([key, content]) => [key, { content, mode: defaultMode }]))
  const picked: ProjectedFiles = new Map()
  for (const { key, path, mode = defaultMode } of items) {
    const content = contents.get(key)
    if (content !== undefined) picked.set(path, { content, mode })
    else if (!optional) throw new Error(missing(key))
  }
  return picked
}
