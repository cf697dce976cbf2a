import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { classNameOf } from '#api/core/v1/volume/matching-volume.ts'
import { type AttachedVolume, attachedVolume, driverOfProvisioner } from '#api/core/v1/volume/migrated-volume.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'
import { on } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, type Status, unresolvable, unschedulable } from '#scheduler/framework/status.ts'
import { claimNameOf, usesClaims } from '#scheduler/plugins/pod-claims.ts'

const tooMany = unschedulable('node(s) exceed max volume count')

/** A storage driver can attach only so many volumes to a node. */
export function nodeVolumeLimits({ objects }: { objects: ClusterObjects }) {
  return defineSchedulerPlugin<{ wanted: ReadonlyMap<string, string>; missing: Status | undefined }>({
    name: 'NodeVolumeLimits',
    retryOn: [on.changed('CSINode'), on.pod.deleted, on.changed('PersistentVolumeClaim'), on.deleted('VolumeAttachment')],

    preFilter({ pod }) {
      if (!usesClaims(pod) && !pod.spec.volumes?.some((volume) => attachedVolume(volume))) return 'skip'
      const wanted = new Map<string, string>()
      return { state: { wanted, missing: collect(pod, wanted, true) } }
    },

    filter(_, node, { wanted, missing }) {
      // Not before: VolumeBinding knows better why a claim is not there.
      if (missing !== undefined) return missing
      if (wanted.size === 0) return fits
      const limits = limitsOf(node.name)
      if (limits.size === 0) return fits
      const attached = new Map<string, string>()
      for (const { pod } of node.pods) collect(pod, attached, false)
      for (const [handle, driver] of attachmentsOn(node.name)) attached.set(handle, driver)
      const counts = new Map<string, number>()
      const count = (driver: string) => counts.set(driver, (counts.get(driver) ?? 0) + 1)
      for (const driver of attached.values()) count(driver)
      const added = new Set<string>()
      for (const [handle, driver] of wanted) {
        if (attached.has(handle)) continue
        count(driver)
        added.add(driver)
      }
      for (const driver of added) if ((counts.get(driver) ?? 0) > (limits.get(driver) ?? Number.POSITIVE_INFINITY)) return tooMany
      return fits
    },
  })

  function limitsOf(nodeName: string): Map<string, number> {
    const limits = new Map<string, number>()
    for (const { name, allocatable } of objects.of('CSINode').get('', nodeName)?.spec.drivers ?? []) {
      if (allocatable?.count !== undefined) limits.set(name, allocatable.count)
    }
    return limits
  }

  /** By the volume's handle, the driver: one volume used by two pods is attached once. */
  function collect(pod: V1Pod, found: Map<string, string>, isNew: boolean): Status | undefined {
    const namespace = pod.metadata.namespace ?? ''
    for (const volume of pod.spec.volumes ?? []) {
      const name = claimNameOf(pod, volume)
      if (name === undefined) {
        const inline = attachedVolume(volume)
        if (inline) found.set(`${inline.driver}/${inline.handle}`, inline.driver)
        continue
      }
      const claim = objects.of('PersistentVolumeClaim').get(namespace, name)
      if (claim === undefined) {
        if (isNew) return unresolvable(`looking up PVC ${namespace}/${name}: persistentvolumeclaim "${name}" not found`)
        continue
      }
      const bound = volumeOf(claim.spec?.volumeName)
      if (bound) found.set(`${bound.driver}/${bound.handle}`, bound.driver)
      else if (!claim.spec?.volumeName) {
        // Not provisioned yet: it will be one more of its class's driver.
        const driver = objects.of('StorageClass').get('', classNameOf(claim))?.provisioner
        if (driver) found.set(`${driver}/${namespace}/${name}`, driverOfProvisioner(driver))
      }
    }
    return undefined
  }

  function* attachmentsOn(nodeName: string): Iterable<[string, string]> {
    for (const { spec } of objects.of('VolumeAttachment').values()) {
      if (spec.nodeName !== nodeName) continue
      const volume = volumeOf(spec.source.persistentVolumeName)
      if (volume) yield [`${volume.driver}/${volume.handle}`, volume.driver]
    }
  }

  function volumeOf(name: string | undefined): AttachedVolume | undefined {
    const volume = objects.of('PersistentVolume').get('', name ?? '')
    return volume?.spec && attachedVolume(volume.spec, volume.metadata?.labels)
  }
}
