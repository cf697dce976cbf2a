import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { classNameOf } from '#api/core/v1/volume/matching-volume.ts'
import { append } from '#base/append.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'
import { on } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unresolvable } from '#scheduler/framework/status.ts'
import { claimNotFound } from '#scheduler/plugins/pod-claims.ts'

const wrongZone = unresolvable('node(s) had no available volume zone')

const zoneLabels = [
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
]
const currentName: Record<string, string> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
}

type ZoneDemand = { readonly key: string; readonly values: ReadonlySet<string> }

/** Volumes that carry labels of a zone are used there only. Newer volumes say it by node affinity instead. */
export function volumeZone({ objects }: { objects: ClusterObjects }) {
  return defineSchedulerPlugin<readonly ZoneDemand[]>({
    name: 'VolumeZone',
    retryOn: [
      on.added('StorageClass'),
      on.node.added,
      on.node.labelsChanged,
      on.changed('PersistentVolumeClaim'),
      on.changed('PersistentVolume'),
    ],

    preFilter({ pod, namespace }) {
      const demands: ZoneDemand[] = []
      for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
        if (!persistentVolumeClaim) continue
        const { claimName } = persistentVolumeClaim
        if (claimName === '') return { refused: unresolvable('PersistentVolumeClaim had no name') }
        const claim = objects.of('PersistentVolumeClaim').get(namespace, claimName)
        if (claim === undefined) return { refused: unresolvable(claimNotFound(claimName)) }
        const volumeName = claim.spec?.volumeName ?? ''
        if (volumeName === '') {
          const reason = whyUnbound(classNameOf(claim))
          if (reason === undefined) continue
          return { refused: unresolvable(reason) }
        }
        const volume = objects.of('PersistentVolume').get('', volumeName)
        if (volume === undefined) return { refused: unresolvable(`persistentvolume "${volumeName}" not found`) }
        append(demands, demandsOf(volume))
      }
      return demands.length === 0 ? 'skip' : { state: demands }
    },

    filter(_, { labels }, demands) {
      // A cluster that knows no zones has nothing to get wrong.
      if (!zoneLabels.some((key) => labels[key] !== undefined)) return fits
      const isMet = ({ key, values }: ZoneDemand) => values.has(labels[key] ?? labels[currentName[key] ?? key] ?? '\u0000')
      return demands.every(isMet) ? fits : wrongZone
    },
  })

  /** Undefined when the claim just waits for us. */
  function whyUnbound(className: string): string | undefined {
    if (className === '') return 'PersistentVolumeClaim had no pv name and storageClass name'
    const storageClass = objects.of('StorageClass').get('', className)
    if (storageClass === undefined) return `storageclass.storage.k8s.io "${className}" not found`
    if (!storageClass.volumeBindingMode) return `VolumeBindingMode not set for StorageClass "${className}"`
    return storageClass.volumeBindingMode === 'WaitForFirstConsumer' ? undefined : 'PersistentVolume had no name'
  }
}

/** Several zones are written with two underscores between them. */
function demandsOf({ metadata }: V1PersistentVolume): ZoneDemand[] {
  return zoneLabels.flatMap((key) => {
    const value = metadata?.labels?.[key]
    return value === undefined ? [] : [{ key, values: new Set(value.split('__')) }]
  })
}
