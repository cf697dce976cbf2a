import { PersistentVolume, Pod } from '#api/core/v1/kinds.gen.ts'
import { attachedVolume } from '#api/core/v1/volume/migrated-volume.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { Counter, Labels, Metrics } from '#base/metrics.ts'
import { needsAttaching, uniqueNameOf } from '#controllers/attach-detach/attachable-volume.ts'
import { usersByNode, volumesOfPod } from '#controllers/attach-detach/volume-users.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

/** Declares upstream's metrics; answers the one that is counted. */
export function meterAttachments(metrics: Metrics, cache: Cache): Counter {
  const pluginOf = (name: string): string => {
    const volume = cache.get(PersistentVolume, '', name)
    const source = volume && attachedVolume(volume.spec, volume.metadata.labels)
    return source === undefined ? '' : `kubernetes.io/csi:${source.driver}`
  }
  metrics.measured('storage_count_attachable_volumes_in_use', 'Volumes that pods on nodes use', () => {
    const counts = new Map<string, [Labels, number]>()
    for (const pod of cache.list(Pod)) {
      if (!pod.spec.nodeName) continue
      for (const name of volumesOfPod(pod, cache))
        count(counts, { node: pod.spec.nodeName, volume_plugin: pluginOf(name) }, 'volume_plugin')
    }
    return counts.values()
  })
  metrics.measured('attachdetach_controller_total_volumes', 'Volumes that are attached, and that shall be', () => {
    const counts = new Map<string, [Labels, number]>()
    for (const { spec } of cache.list(VolumeAttachment)) {
      const plugin_name = pluginOf(spec.source.persistentVolumeName ?? '')
      count(counts, { plugin_name, state: 'actual_state_of_world' }, 'plugin_name')
    }
    for (const volume of cache.list(PersistentVolume)) {
      const source = attachedVolume(volume.spec, volume.metadata.labels)
      if (source === undefined || uniqueNameOf(volume) === undefined || !needsAttaching(source.driver, cache)) continue
      for (const _ of usersByNode([volume], cache)) {
        count(counts, { plugin_name: `kubernetes.io/csi:${source.driver}`, state: 'desired_state_of_world' }, 'plugin_name')
      }
    }
    return counts.values()
  })
  return metrics.counter('attach_detach_controller_attachdetach_controller_forced_detaches', 'Volumes that were detached by force')
}

function count(counts: Map<string, [Labels, number]>, labels: Labels, plugin: string): void {
  if (labels[plugin] === '') return
  const key = JSON.stringify(labels)
  const found = counts.get(key)
  if (found === undefined) counts.set(key, [labels, 1])
  else found[1]++
}
