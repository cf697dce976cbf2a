import { accessModesText } from '#api/core/v1/access-modes-text.ts'
import { PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import { optionsForNewClaim, optionsForStoredClaim, validateClaimSpec } from '#api/core/v1/persistent-volume-claim/claim-spec.ts'
import { claimSpecWarnings } from '#api/core/v1/persistent-volume-claim/claim-warnings.ts'
import { dropDisabledClaimFields, keepKnownDataSources, mirrorDataSources } from '#api/core/v1/persistent-volume-claim/data-sources.ts'
import { storageClassAnnotation, storageClassAnnotationWarning } from '#api/core/v1/persistent-volume-claim/storage-class-annotation.ts'
import { validateClaimStatusUpdate, validateClaimUpdate } from '#api/core/v1/persistent-volume-claim/validate-claim-update.ts'
import { defaultClaimSpec } from '#api/core/v1/pod-spec/default-volume.ts'
import { roundUpToMillis } from '#api/core/v1/quantities.ts'
import type { V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { canonicalQuantity } from '#api/meta/quantity.ts'
import { defineResource } from '#api/resource.ts'

export const persistentVolumeClaimResource = defineResource(PersistentVolumeClaim, {
  allowUnconditionalUpdate: true,
  returnsDeletedObject: true,

  defaults(claim) {
    claim.spec ??= {}
    defaultClaimSpec(claim.spec)
    claim.status ??= {}
    claim.status.phase ||= 'Pending'
    roundUpToMillis(claim.status.capacity)
    roundUpToMillis(claim.status.allocatedResources)
  },

  prepareForCreate(claim, context) {
    claim.status = { phase: 'Pending' }
    dropDisabledClaimFields(claim.spec, undefined, context)
    keepKnownDataSources(claim.spec, undefined)
    mirrorDataSources(claim.spec)
  },
  validate: (_object, check) => validateClaimSpec(check.at('spec'), optionsForNewClaim),
  warningsOnCreate: claimWarnings,

  prepareForUpdate(next, prev, context) {
    dropDisabledClaimFields(next.spec, prev.spec, context)
    keepKnownDataSources(next.spec, prev.spec)
    mirrorDataSources(next.spec)
  },
  validateUpdate(_next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    validateClaimSpec(check.at('spec'), optionsForStoredClaim(prev.spec))
    validateClaimUpdate(check, prev)
  },
  warningsOnUpdate: claimWarnings,

  columns: [
    nameColumn,
    {
      name: 'Status',
      type: 'string',
      description: { field: 'PersistentVolumeClaimStatus.phase' },
      cell: ({ metadata, status }) => (metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? '')),
    },
    {
      name: 'Volume',
      type: 'string',
      description: { field: 'PersistentVolumeClaimSpec.volumeName' },
      cell: ({ spec }) => spec.volumeName ?? '',
    },
    {
      name: 'Capacity',
      type: 'string',
      description: { field: 'PersistentVolumeClaimStatus.capacity' },
      cell: ({ spec, status }) => (spec.volumeName ? canonicalQuantity(status?.capacity?.['storage'] ?? '0') : ''),
    },
    {
      name: 'Access Modes',
      type: 'string',
      description: { field: 'PersistentVolumeClaimStatus.accessModes' },
      cell: ({ spec, status }) => (spec.volumeName ? accessModesText(status?.accessModes) : ''),
    },
    {
      name: 'StorageClass',
      type: 'string',
      description: 'StorageClass of the pvc',
      cell: ({ metadata, spec }) => metadata.annotations?.[storageClassAnnotation] ?? spec.storageClassName ?? '',
    },
    {
      name: 'VolumeAttributesClass',
      type: 'string',
      description: 'VolumeAttributesClass of the pvc',
      cell: ({ spec }) => spec.volumeAttributesClassName ?? '<unset>',
    },
    ageColumn,
    {
      name: 'VolumeMode',
      type: 'string',
      priority: 1,
      description: { field: 'PersistentVolumeClaimSpec.volumeMode' },
      cell: ({ spec }) => spec.volumeMode ?? '<unset>',
    },
  ],

  subresources: {
    status: {
      validateUpdate(_next, _prev, check) {
        validateClaimStatusUpdate(check)
      },
    },
  },
})

function claimWarnings({ metadata, spec }: V1PersistentVolumeClaim): string[] {
  const warnings = claimSpecWarnings(spec, 'spec')
  if (metadata.annotations?.[storageClassAnnotation] === undefined) return warnings
  return [`metadata.annotations[${storageClassAnnotation}]: ${storageClassAnnotationWarning}`, ...warnings]
}
