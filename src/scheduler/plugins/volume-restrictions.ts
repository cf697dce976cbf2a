import type { V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import type { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'
import { on, when } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unresolvable, unschedulable } from '#scheduler/framework/status.ts'
import { claimNotFound } from '#scheduler/plugins/pod-claims.ts'

const diskTaken = unschedulable('node(s) had no available disk')
const claimTaken = unschedulable(
  'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
)

/** Claims for one pod only that we use, and how often others use them. */
type State = { readonly claims: ReadonlySet<string>; uses: number; readonly hasDisks: boolean }

/** Disks that take one user take one user: on a node, or, for claims of mode ReadWriteOncePod, in the cluster. */
export function volumeRestrictions({ cache, objects }: { cache: ClusterCache; objects: ClusterObjects }) {
  const frees = (pod: V1Pod, other: V1Pod) => {
    if (other.metadata.namespace !== pod.metadata.namespace) return false
    const claims = new Set(pod.spec.volumes?.map(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName))
    const sharesClaim = other.spec.volumes?.some(
      ({ persistentVolumeClaim }) => persistentVolumeClaim && claims.has(persistentVolumeClaim.claimName),
    )
    return sharesClaim || (pod.spec.volumes?.some((volume) => conflicts(volume, other)) ?? false)
  }
  return defineSchedulerPlugin<State>({
    name: 'VolumeRestrictions',
    retryOn: [when(on.pod.deleted, frees), on.node.added, on.changed('PersistentVolumeClaim')],

    preFilter({ pod, namespace }) {
      const { volumes } = pod.spec
      if (!volumes?.length) return 'skip'
      const claims = new Set<string>()
      let uses = 0
      for (const { persistentVolumeClaim } of volumes) {
        if (!persistentVolumeClaim) continue
        const { claimName } = persistentVolumeClaim
        const claim = objects.of('PersistentVolumeClaim').get(namespace, claimName)
        if (claim === undefined) return { refused: unresolvable(claimNotFound(claimName)) }
        if (!claim.spec?.accessModes?.includes('ReadWriteOncePod')) continue
        claims.add(claimName)
        if (cache.claimUsers.has(`${namespace}/${claimName}`)) uses++
      }
      const hasDisks = volumes.some(isExclusiveDisk)
      return !hasDisks && uses === 0 ? 'skip' : { state: { claims, uses, hasDisks } }
    },
    cloneState: (state) => ({ ...state }),
    addPod: (state, pod, added) => {
      state.uses += sharedClaims(state, pod, added)
    },
    removePod: (state, pod, removed) => {
      state.uses -= sharedClaims(state, pod, removed)
    },

    filter({ pod }, node, { uses, hasDisks }) {
      if (hasDisks && pod.spec.volumes?.some((volume) => node.pods.some((other) => conflicts(volume, other.pod)))) return diskTaken
      return uses > 0 ? claimTaken : fits
    },
  })
}

function sharedClaims({ claims }: State, { namespace }: PodInfo, other: PodInfo): number {
  if (other.namespace !== namespace) return 0
  return (other.pod.spec.volumes ?? []).filter(({ persistentVolumeClaim }) => claims.has(persistentVolumeClaim?.claimName ?? '')).length
}

const isExclusiveDisk = ({ gcePersistentDisk, awsElasticBlockStore, rbd, iscsi }: V1Volume): boolean =>
  Boolean(gcePersistentDisk || awsElasticBlockStore || rbd || iscsi)

/** Read-only use by both is fine, except for AWS. */
function conflicts(volume: V1Volume, other: V1Pod): boolean {
  return (other.spec.volumes ?? []).some((theirs) => {
    const { gcePersistentDisk: gce, awsElasticBlockStore: aws, iscsi, rbd } = volume
    if (gce && gce.pdName === theirs.gcePersistentDisk?.pdName) return !(gce.readOnly && theirs.gcePersistentDisk.readOnly)
    if (aws && aws.volumeID === theirs.awsElasticBlockStore?.volumeID) return true
    if (iscsi && iscsi.iqn === theirs.iscsi?.iqn) return !(iscsi.readOnly && theirs.iscsi.readOnly)
    if (!rbd || !theirs.rbd || (rbd.readOnly && theirs.rbd.readOnly)) return false
    const monitors = new Set(rbd.monitors)
    return (
      rbd.image === theirs.rbd.image &&
      (rbd.pool ?? 'rbd') === (theirs.rbd.pool ?? 'rbd') &&
      (theirs.rbd.monitors ?? []).some((each) => monitors.has(each))
    )
  })
}
