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
    return sharesClaim || shareADisk(pod, other)
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
      if (hasDisks && node.pods.some((other) => shareADisk(pod, other.pod))) return diskTaken
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

/** The disks of a pod that take one user on a node, and whether it writes to them: read-only use by both is fine, except for AWS. */
type Disks = ReadonlyMap<string, { isWritten: boolean }>
const known = new WeakMap<V1Pod, Disks>()

const disksOf = (pod: V1Pod): Disks => known.getOrInsertComputed(pod, ({ spec }) => readDisks(spec.volumes ?? []))

function readDisks(volumes: readonly V1Volume[]): Disks {
  const disks = new Map<string, { isWritten: boolean }>()
  const add = (id: string, isWritten: boolean) => disks.set(id, { isWritten: isWritten || (disks.get(id)?.isWritten ?? false) })
  for (const { gcePersistentDisk: gce, awsElasticBlockStore: aws, iscsi, rbd } of volumes) {
    if (gce) add(`gce ${gce.pdName}`, !gce.readOnly)
    if (aws) add(`aws ${aws.volumeID}`, true)
    if (iscsi) add(`iscsi ${iscsi.iqn}`, !iscsi.readOnly)
    // The same image is one that is reached by a common monitor.
    for (const monitor of rbd?.monitors ?? []) add(`rbd ${JSON.stringify([rbd?.pool ?? 'rbd', rbd?.image, monitor])}`, !rbd?.readOnly)
  }
  return disks
}

/** Takes time in proportion to the disks of the one that has fewer. */
function shareADisk(one: V1Pod, other: V1Pod): boolean {
  const [few, many] = [disksOf(one), disksOf(other)].sort((left, right) => left.size - right.size) as [Disks, Disks]
  for (const [id, { isWritten }] of few) {
    const theirs = many.get(id)
    if (theirs !== undefined && (isWritten || theirs.isWritten)) return true
  }
  return false
}
