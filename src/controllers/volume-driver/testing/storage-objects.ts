/** Claims, volumes and classes as tests want them. */

import type { V1PersistentVolume, V1PersistentVolumeClaim, V1PersistentVolumeSpec } from '#api/core/v1/types.gen.ts'
import type { V1StorageClass } from '#api/storage/v1/types.gen.ts'
import { defined } from '#base/defined.ts'

export const aClaim = (name: string, spec: V1PersistentVolumeClaim['spec'] = {}, size = '5Gi'): V1PersistentVolumeClaim => ({
  metadata: { namespace: 'default', name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: size } }, ...spec },
})

export function aVolume(
  name: string,
  { size = '10Gi', ...spec }: Partial<V1PersistentVolumeSpec> & { size?: string } = {},
  labels: Record<string, string> = {},
): V1PersistentVolume {
  const hasSource = spec.csi || spec.local || spec.hostPath || spec.nfs
  return {
    metadata: { name, labels },
    spec: {
      capacity: { storage: size },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      ...defined({ nfs: hasSource ? undefined : { server: 'nfs.example.com', path: '/' } }),
      ...spec,
    },
  }
}

export const aClass = (name: string, more: Partial<V1StorageClass> = {}): V1StorageClass => ({
  metadata: { name },
  provisioner: 'sim.example.com',
  ...more,
})
