/** Volumes that nodes attach by themselves (iSCSI, Fibre Channel): nobody is asked to, but kubelets wait until their node is told. */

import { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1FCVolumeSource, V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { maySeveralNodesHave } from '#controllers/attach-detach/attachable-volume.ts'
import { isManaged, isOver, volumesOfPod } from '#controllers/attach-detach/volume-users.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { podsOfClaim } from '#controllers/workload/pod-claims.ts'

type Source = { iscsi?: { targetPortal: string; iqn: string; lun: number }; fc?: V1FCVolumeSource }

const byNode = 'node'
const byVolume = 'booked volume'
const prefixes = ['kubernetes.io/iscsi/', 'kubernetes.io/fc/']

/** In upstream's words, since kubelets look for them. Lists are as Go prints them. */
export function bookedName({ iscsi, fc }: Source): string | undefined {
  if (iscsi !== undefined) return `kubernetes.io/iscsi/${iscsi.targetPortal}:${iscsi.iqn}:${iscsi.lun}`
  if (fc === undefined) return undefined
  const { targetWWNs = [], wwids = [], lun } = fc
  if (targetWWNs.length > 0 && lun !== undefined) return `kubernetes.io/fc/[${targetWWNs.join(' ')}]:${lun}`
  return wwids.length > 0 ? `kubernetes.io/fc/[${wwids.join(' ')}]` : undefined
}

export const isBooked = (uniqueName: string): boolean => prefixes.some((prefix) => uniqueName.startsWith(prefix))

export function indexBooked(cache: Cache): void {
  cache.addIndex(Pod, byNode, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []))
  cache.addIndex(Pod, byVolume, inlineNames)
  cache.addIndex(PersistentVolume, byVolume, ({ spec }) => named(bookedName(spec)))
  cache.addIndex(Node, byVolume, heldBy)
}

const named = (name: string | undefined): string[] => (name === undefined ? [] : [name])
const inlineNames = ({ spec }: V1Pod): string[] => (spec.volumes ?? []).flatMap((volume) => named(bookedName(volume)))

/** What the node is told of, or uses. */
export const heldBy = ({ status }: V1Node): string[] => {
  const attached = (status?.volumesAttached ?? []).map(({ name }) => name)
  return [...new Set([...attached, ...(status?.volumesInUse ?? [])])].filter(isBooked)
}

export const holdersOf = (uniqueName: string, cache: Cache): readonly V1Node[] => cache.byIndex(Node, byVolume, uniqueName)

/** What pods on the node want, and whether no other node may have it meanwhile. */
export function wantedOn(nodeName: string, cache: Cache): Map<string, { isExclusive: boolean }> {
  const wanted = new Map<string, { isExclusive: boolean }>()
  if (!isManaged(cache.get(Node, '', nodeName))) return wanted
  for (const pod of cache.byIndex(Pod, byNode, nodeName)) {
    if (isOver(pod)) continue
    for (const name of inlineNames(pod)) wanted.set(name, { isExclusive: false })
    for (const volumeName of volumesOfPod(pod, cache)) {
      const volume = cache.get(PersistentVolume, '', volumeName)
      if (volume === undefined) continue
      const name = bookedName(volume.spec)
      if (name !== undefined) wanted.set(name, { isExclusive: !maySeveralNodesHave(volume) })
    }
  }
  return wanted
}

/** Whether the pod has any such volume. */
export const usesBooked = (pod: V1Pod, cache: Cache): boolean =>
  inlineNames(pod).length > 0 ||
  volumesOfPod(pod, cache).some((name) => {
    const volume = cache.get(PersistentVolume, '', name)
    return volume !== undefined && bookedName(volume.spec) !== undefined
  })

/** Nodes that may wait for the volume. */
export function nodesWanting(uniqueName: string, cache: Cache): string[] {
  const pods = [...cache.byIndex(Pod, byVolume, uniqueName)]
  for (const { spec } of cache.byIndex(PersistentVolume, byVolume, uniqueName)) {
    const claim = cache.get(PersistentVolumeClaim, spec.claimRef?.namespace ?? '', spec.claimRef?.name ?? '')
    if (claim !== undefined) pods.push(...podsOfClaim(claim, cache))
  }
  return pods.map(({ spec }) => spec.nodeName ?? '').filter((name) => name !== '')
}
