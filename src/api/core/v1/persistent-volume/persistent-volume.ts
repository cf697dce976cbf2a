import { accessModesText } from '#api/core/v1/access-modes-text.ts'
import { PersistentVolume } from '#api/core/v1/kinds.gen.ts'
import {
  mountOptionsAnnotation,
  validatePersistentVolume,
  validatePersistentVolumeUpdate,
  volumeOptions,
} from '#api/core/v1/persistent-volume/validate-persistent-volume.ts'
import { storageClassAnnotation, storageClassAnnotationWarning } from '#api/core/v1/persistent-volume-claim/storage-class-annotation.ts'
import { defaultAzureDisk } from '#api/core/v1/pod-spec/default-volume.ts'
import { nodeSelectorTermWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import { roundUpToMillis } from '#api/core/v1/quantities.ts'
import type { V1PersistentVolume, V1PersistentVolumeSpec } from '#api/core/v1/types.gen.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { type ObjectMetaRules, validateObjectMeta } from '#api/meta/object-meta.ts'
import { canonicalQuantity } from '#api/meta/quantity.ts'
import { defineResource } from '#api/resource.ts'
import { append } from '#base/append.ts'

export const persistentVolumeResource = defineResource(PersistentVolume, {
  allowUnconditionalUpdate: true,
  returnsDeletedObject: true,

  defaults(volume) {
    volume.spec ??= {}
    volume.status ??= {}
    volume.status.phase ||= 'Pending'
    defaultVolumeSpec(volume.spec)
  },

  prepareForCreate(volume, { now }) {
    volume.status = { phase: 'Pending', lastPhaseTransitionTime: now }
  },
  validate: (_volume, check) => validatePersistentVolume(check, volumeOptions()),
  warningsOnCreate: volumeWarnings,

  revalidatesMetadata: false,
  *validateUpdate(_next, prev, check, context) {
    const options = volumeOptions(prev)
    validateObjectMeta(check.at('metadata'), metaRules)
    validatePersistentVolume(check, options)
    yield
    validateObjectMeta(check.at('metadata'), metaRules)
    validatePersistentVolume(check, { ...options, skipsMountOptions: true })
    validatePersistentVolumeUpdate(check, prev, context)
  },
  warningsOnUpdate: volumeWarnings,

  columns: [
    nameColumn,
    {
      name: 'Capacity',
      type: 'string',
      description: { field: 'PersistentVolumeSpec.capacity' },
      cell: ({ spec }) => canonicalQuantity(spec.capacity?.['storage'] ?? '0'),
    },
    {
      name: 'Access Modes',
      type: 'string',
      description: { field: 'PersistentVolumeSpec.accessModes' },
      cell: ({ spec }) => accessModesText(spec.accessModes),
    },
    {
      name: 'Reclaim Policy',
      type: 'string',
      description: { field: 'PersistentVolumeSpec.persistentVolumeReclaimPolicy' },
      cell: ({ spec }) => spec.persistentVolumeReclaimPolicy ?? '',
    },
    {
      name: 'Status',
      type: 'string',
      description: { field: 'PersistentVolumeStatus.phase' },
      cell: ({ metadata, status }) => (metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? '')),
    },
    {
      name: 'Claim',
      type: 'string',
      description: { field: 'PersistentVolumeSpec.claimRef' },
      cell: ({ spec: { claimRef } }) => (claimRef ? `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}` : ''),
    },
    {
      name: 'StorageClass',
      type: 'string',
      description: 'StorageClass of the pv',
      cell: ({ metadata, spec }) => metadata.annotations?.[storageClassAnnotation] ?? spec.storageClassName ?? '',
    },
    {
      name: 'VolumeAttributesClass',
      type: 'string',
      description: 'VolumeAttributesClass of the pv',
      cell: ({ spec }) => spec.volumeAttributesClassName ?? '<unset>',
    },
    {
      name: 'Reason',
      type: 'string',
      description: { field: 'PersistentVolumeStatus.reason' },
      cell: ({ status }) => status?.reason ?? '',
    },
    ageColumn,
    {
      name: 'VolumeMode',
      type: 'string',
      priority: 1,
      description: { field: 'PersistentVolumeSpec.volumeMode' },
      cell: ({ spec }) => spec.volumeMode ?? '<unset>',
    },
  ],

  subresources: {
    status: {
      prepareForUpdate(next, prev, { now }) {
        next.status ??= {}
        const { phase = '', lastPhaseTransitionTime: time } = next.status
        const { phase: oldPhase = '', lastPhaseTransitionTime: oldTime } = prev.status ?? {}
        if (phase === oldPhase) {
          if (time === undefined && oldTime !== undefined) next.status.lastPhaseTransitionTime = oldTime
        } else if (time === undefined || time === oldTime) next.status.lastPhaseTransitionTime = now
      },
      validateUpdate(next, _prev, check) {
        if (!next.metadata.resourceVersion) check.dynamic('resourceVersion').required()
      },
    },
  },
})

const metaRules: ObjectMetaRules = { scope: 'Cluster', nameRule: nameIsDns1123Subdomain }

function defaultVolumeSpec(spec: V1PersistentVolumeSpec): void {
  spec.persistentVolumeReclaimPolicy ||= 'Retain'
  spec.volumeMode ??= 'Filesystem'
  roundUpToMillis(spec.capacity)
  const { hostPath, rbd, iscsi, azureDisk, scaleIO } = spec
  if (hostPath) hostPath.type ??= ''
  if (rbd) {
    rbd.pool ||= 'rbd'
    rbd.user ||= 'admin'
    rbd.keyring ||= '/etc/ceph/keyring'
  }
  if (iscsi) iscsi.iscsiInterface ||= 'default'
  if (azureDisk) defaultAzureDisk(azureDisk)
  if (scaleIO) {
    scaleIO.storageMode ||= 'ThinProvisioned'
    scaleIO.fsType ||= 'xfs'
  }
}

const deprecatedSources: readonly (readonly [keyof V1PersistentVolumeSpec, string, string])[] = [
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
]

function volumeWarnings({ metadata, spec }: V1PersistentVolume): string[] {
  const warnings: string[] = []
  const { annotations = {} } = metadata
  if (annotations[storageClassAnnotation] !== undefined) {
    warnings.push(`metadata.annotations[${storageClassAnnotation}]: ${storageClassAnnotationWarning}`)
  }
  if (annotations[mountOptionsAnnotation] !== undefined) {
    warnings.push(`metadata.annotations[${mountOptionsAnnotation}]: deprecated since v1.31; use "mountOptions" attribute instead`)
  }
  if (spec.persistentVolumeReclaimPolicy === 'Recycle') {
    const advice = 'Instead, the recommended approach is to use dynamic provisioning.'
    warnings.push(`spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. ${advice}`)
  }
  for (const [index, term] of (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries()) {
    append(warnings, nodeSelectorTermWarnings(term, false, `spec.nodeAffinity.required.nodeSelectorTerms[${index}]`))
  }
  for (const [field, shown, message] of deprecatedSources) if (spec[field] !== undefined) warnings.push(`spec.${shown}: ${message}`)
  return warnings
}
