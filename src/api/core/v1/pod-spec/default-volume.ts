/** Fills in what the author of a volume left out. */
import { defaultPullPolicy } from '#api/core/v1/pod-spec/image-reference.ts'
import { roundUpToMillis } from '#api/core/v1/quantities.ts'
import type {
  V1AzureDiskVolumeSource,
  V1DownwardAPIVolumeFile,
  V1PersistentVolumeClaimSpec,
  V1ProjectedVolumeSource,
  V1Volume,
} from '#api/core/v1/types.gen.ts'

const fileMode = 0o644
const tokenSeconds = 3600

export function defaultVolume(volume: V1Volume): void {
  if (!hasSource(volume)) volume.emptyDir = {}
  const { configMap, secret, projected, hostPath, downwardAPI, ephemeral, image } = volume
  if (configMap) configMap.defaultMode ??= fileMode
  if (secret) secret.defaultMode ??= fileMode
  if (projected) defaultProjected(projected)
  if (hostPath) hostPath.type ??= ''
  if (downwardAPI) {
    downwardAPI.defaultMode ??= fileMode
    defaultFieldRefs(downwardAPI.items)
  }
  if (image) image.pullPolicy ||= defaultPullPolicy(image.reference ?? '')
  if (ephemeral?.volumeClaimTemplate) {
    ephemeral.volumeClaimTemplate.spec ??= {}
    defaultClaimSpec(ephemeral.volumeClaimTemplate.spec)
  }
  const { iscsi, rbd, azureDisk, scaleIO } = volume
  if (iscsi) iscsi.iscsiInterface ||= 'default'
  if (rbd) {
    rbd.pool ||= 'rbd'
    rbd.user ||= 'admin'
    rbd.keyring ||= '/etc/ceph/keyring'
  }
  if (azureDisk) defaultAzureDisk(azureDisk)
  if (scaleIO) {
    scaleIO.storageMode ||= 'ThinProvisioned'
    scaleIO.fsType ||= 'xfs'
  }
}

function hasSource(volume: V1Volume): boolean {
  for (const field in volume) if (field !== 'name' && volume[field as keyof V1Volume] !== undefined) return true
  return false
}

function defaultProjected(projected: V1ProjectedVolumeSource): void {
  projected.defaultMode ??= fileMode
  for (const { downwardAPI, serviceAccountToken } of projected.sources ?? []) {
    defaultFieldRefs(downwardAPI?.items)
    if (serviceAccountToken) serviceAccountToken.expirationSeconds ??= tokenSeconds
  }
}

function defaultFieldRefs(files: readonly V1DownwardAPIVolumeFile[] | undefined): void {
  for (const { fieldRef } of files ?? []) if (fieldRef) fieldRef.apiVersion ||= 'v1'
}

/** Of persistent volumes as well. */
export function defaultAzureDisk(disk: V1AzureDiskVolumeSource): void {
  disk.cachingMode ??= 'ReadWrite'
  disk.fsType ??= 'ext4'
  disk.readOnly ??= false
  disk.kind ??= 'Shared'
}

export function defaultClaimSpec(spec: V1PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= 'Filesystem'
  roundUpToMillis(spec.resources?.limits)
  roundUpToMillis(spec.resources?.requests)
}
