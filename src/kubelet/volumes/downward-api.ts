import { normalize } from 'node:path'
import type { V1DownwardAPIVolumeFile, V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { aggregateMessages } from '#api/meta/aggregate.ts'
import { errorMessage } from '#base/error-message.ts'
import { podField } from '#kubelet/environment/pod-fields.ts'
import { containerResource } from '#kubelet/environment/resource-fields.ts'
import type { ProjectedFiles } from '#kubelet/volumes/atomic-directory.ts'
import { mirroredVolume } from '#kubelet/volumes/mirrored-volume.ts'
import type { VolumeTools } from '#kubelet/volumes/volume-plugin.ts'

export const downwardApiVolume = mirroredVolume({
  source: 'downwardAPI',
  name: 'kubernetes.io/downward-api',
  medium: 'memory',
  content: async ({ downwardAPI: { items = [], defaultMode = 0o644 } = {} }: V1Volume, pod, tools) =>
    downwardApiFiles(items, pod, defaultMode, tools),
})

export function downwardApiFiles(
  items: readonly V1DownwardAPIVolumeFile[],
  pod: V1Pod,
  defaultMode: number,
  { allocatable }: Pick<VolumeTools, 'allocatable'>,
): ProjectedFiles {
  const projected: ProjectedFiles = new Map()
  const problems: string[] = []
  for (const { path, mode = defaultMode, fieldRef, resourceFieldRef } of items) {
    try {
      let text = ''
      if (fieldRef !== undefined) text = podField(pod, fieldRef.fieldPath)
      else if (resourceFieldRef !== undefined)
        text = containerResource(resourceFieldRef, pod, resourceFieldRef.containerName, allocatable())
      projected.set(normalize(path), { content: Buffer.from(text), mode })
    } catch (error) {
      problems.push(errorMessage(error))
    }
  }
  if (problems.length > 0) throw new Error(aggregateMessages(problems))
  return projected
}
