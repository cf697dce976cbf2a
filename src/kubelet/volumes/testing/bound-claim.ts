import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim, V1PersistentVolumeSpec } from '#api/core/v1/types.gen.ts'
import type { FakeCluster } from '#testing/fake-cluster.ts'

export type BoundClaim = { claim: V1PersistentVolumeClaim; volume: V1PersistentVolume }

/** A claim `NAME` and a volume `pv-NAME` with the source, bound to each other as the binder would. */
export async function boundClaim(cluster: FakeCluster, name: string, source: Partial<V1PersistentVolumeSpec>): Promise<BoundClaim> {
  const { client } = cluster
  const accessModes = source.accessModes ?? ['ReadWriteOnce']
  const volumeMode = source.volumeMode ?? 'Filesystem'
  const claim = await client.create(PersistentVolumeClaim, {
    metadata: { name, namespace: 'default' },
    spec: { accessModes, resources: { requests: { storage: '1Gi' } }, storageClassName: '', volumeName: `pv-${name}`, volumeMode },
  } as V1PersistentVolumeClaim)
  const volume = await client.create(PersistentVolume, {
    metadata: { name: `pv-${name}` },
    spec: {
      ...{ accessModes, volumeMode, capacity: { storage: '1Gi' } },
      claimRef: { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace: 'default', name, uid: claim.metadata?.uid },
      ...source,
    },
  } as V1PersistentVolume)
  const status = { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes }
  return { claim: await client.updateStatus(PersistentVolumeClaim, { ...claim, status }), volume }
}
