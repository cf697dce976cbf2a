/** A volume that is mounted, wherever a pod has named it: in its own text, or through a claim. */
import type { V1PersistentVolume, V1PersistentVolumeClaim, V1PersistentVolumeSpec, V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'

/** The fields that say where a volume is; those of pods differ from these only in how they name secrets. */
export type VolumeSource = Pick<V1PersistentVolumeSpec, 'local' | 'hostPath' | 'csi' | 'nfs' | 'iscsi' | 'glusterfs' | 'rbd'>

export type VolumeSpec = {
  /** What the pod calls it. */
  podVolume: string
  /** What paths call it: the persistent volume's name where there is one. */
  name: string
  source: VolumeSource
  isReadOnly: boolean
  isBlock: boolean
  mountOptions: string[]
  /** Lives and dies with the pod: written down in the pod alone. */
  isInline: boolean
  accessModes: string[]
  volume?: V1PersistentVolume
  claim?: V1PersistentVolumeClaim
}

const sources = ['local', 'hostPath', 'csi', 'nfs', 'iscsi', 'glusterfs', 'rbd'] as const

/** Undefined for kinds of volumes that nobody mounts any more. */
export function sourceNameOf(spec: VolumeSource): (typeof sources)[number] | undefined {
  return sources.find((name) => spec[name] !== undefined)
}

export function specOfClaimed(
  podVolume: string,
  isReadOnly: boolean,
  claim: V1PersistentVolumeClaim,
  volume: V1PersistentVolume,
): VolumeSpec {
  const { spec = {}, metadata } = volume
  return {
    ...{ podVolume, name: metadata?.name ?? '', isReadOnly, claim, volume, isInline: false },
    source: spec,
    isBlock: spec.volumeMode === 'Block',
    mountOptions: spec.mountOptions ?? legacyMountOptions(volume),
    accessModes: spec.accessModes ?? [],
  }
}

const legacyMountOptions = ({ metadata }: V1PersistentVolume): string[] =>
  (metadata?.annotations?.['volume.beta.kubernetes.io/mount-options'] ?? '').split(',').filter((option) => option !== '')

/** Undefined where the volume is of no kind that is mounted. Secrets are in the pod's own namespace. */
export function specOfInline(volume: V1Volume, { metadata: { namespace = '' } }: V1Pod): VolumeSpec | undefined {
  const { name, nfs, iscsi, glusterfs, rbd, csi } = volume
  const secret = (reference: { name?: string } | undefined) =>
    reference === undefined ? {} : { secretRef: { name: reference.name ?? '', namespace } }
  const source: VolumeSource = {
    ...defined({ nfs, glusterfs: glusterfs && { ...glusterfs, endpointsNamespace: namespace } }),
    ...defined({
      iscsi: iscsi === undefined ? undefined : ({ ...iscsi, ...secret(iscsi.secretRef) } as NonNullable<VolumeSource['iscsi']>),
      rbd: rbd === undefined ? undefined : ({ ...rbd, ...secret(rbd.secretRef) } as NonNullable<VolumeSource['rbd']>),
    }),
  }
  if (csi !== undefined) {
    const { nodePublishSecretRef: own, ...rest } = csi
    // Its handle is made of the pod's own name for it, by the plugin.
    const nodePublishSecretRef = own === undefined ? undefined : { name: own.name ?? '', namespace }
    source.csi = { ...rest, volumeHandle: '', ...defined({ nodePublishSecretRef }) }
  }
  const kind = sourceNameOf(source)
  if (kind === undefined) return undefined
  const isReadOnly = (source[kind] as { readOnly?: boolean }).readOnly ?? false
  return { podVolume: name, name, source, isReadOnly, isBlock: false, mountOptions: [], isInline: true, accessModes: [] }
}
