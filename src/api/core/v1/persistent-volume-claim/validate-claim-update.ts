/** Validates changes to claims: little may change once a volume was sought. */

import { PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import { mirrorDataSources } from '#api/core/v1/persistent-volume-claim/data-sources.ts'
import { storageClassAnnotation } from '#api/core/v1/persistent-volume-claim/storage-class-annotation.ts'
import { validateNotBelowZero, validateResourceQuantity } from '#api/core/v1/quantities.ts'
import { validateClaimResourceName } from '#api/core/v1/resource-names.ts'
import type { V1PersistentVolumeClaim, V1PersistentVolumeClaimSpec } from '#api/core/v1/types.gen.ts'
import { internalDiff } from '#api/core/v1/unified-diff.ts'
import type { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { parseQuantity } from '#api/meta/quantity.ts'

const sameSpec = equalityOf(PersistentVolumeClaim).at('spec')

const immutableSpec = 'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'

export function validateClaimUpdate(check: Check<V1PersistentVolumeClaim>, prev: V1PersistentVolumeClaim): void {
  const next = check.value
  const munged: V1PersistentVolumeClaimSpec = { ...next.spec }
  const old: V1PersistentVolumeClaimSpec = { ...prev.spec }
  mirrorDataSources(old)
  // The binder fills in the volume.
  if (!old.volumeName && munged.volumeName) old.volumeName = munged.volumeName
  allowNamingTheClass(munged, check, prev)
  if (next.status?.phase === 'Bound') {
    takeOverStorage(munged, prev.spec)
    if (old.volumeAttributesClassName === undefined) delete munged.volumeAttributesClassName
    else munged.volumeAttributesClassName = old.volumeAttributesClassName
  }
  if (!sameSpec(munged, old)) {
    check.at('spec').forbidden(`${immutableSpec}\n${internalDiff('core.PersistentVolumeClaimSpec', old, munged)}`)
  }
  validateSizes(next, prev, check.at('spec').at('resources').at('requests').at('storage'))
  mustNotChange(check.dynamic('volumeMode').with(next.spec.volumeMode), prev.spec.volumeMode)
  validateAttributesClass(next, prev, check.at('spec').at('volumeAttributesClassName'))
}

/** A class that was an annotation may become the field, and a claim without one may be given one late. */
function allowNamingTheClass(
  munged: V1PersistentVolumeClaimSpec,
  check: Check<V1PersistentVolumeClaim>,
  prev: V1PersistentVolumeClaim,
): void {
  const next = check.value
  const annotated = prev.metadata.annotations?.[storageClassAnnotation]
  const annotation = next.metadata.annotations?.[storageClassAnnotation]
  const [name, oldName] = [next.spec.storageClassName, prev.spec.storageClassName]
  const isNamed = name !== undefined && oldName === undefined
  if (annotated !== undefined && isNamed && name === annotated && (annotation === undefined || annotation === annotated)) {
    delete munged.storageClassName
    return
  }
  if ((annotation ?? '') !== (annotated ?? '')) {
    check.dynamic(`metadata.annotations.${storageClassAnnotation}`).invalid('field is immutable', annotation ?? '')
  }
  if (isNamed && (annotated === undefined || name === annotated)) delete munged.storageClassName
}

function takeOverStorage(munged: V1PersistentVolumeClaimSpec, prev: V1PersistentVolumeClaimSpec): void {
  const requests = munged.resources?.requests
  if (requests === undefined) return
  const old = prev.resources?.requests?.['storage']
  munged.resources = { ...munged.resources, requests: { ...requests, storage: old ?? '0' } }
}

/** A claim that could not be enlarged may be taken back, but never below what its volume has. */
function validateSizes(next: V1PersistentVolumeClaim, prev: V1PersistentVolumeClaim, check: Check<unknown>): void {
  const size = parseQuantity(next.spec.resources?.requests?.['storage'] ?? '0')
  const oldSize = parseQuantity(prev.spec.resources?.requests?.['storage'] ?? '0')
  const actual = parseQuantity(prev.status?.capacity?.['storage'] ?? '0')
  if (size.compare(oldSize) < 0 && size.compare(actual) <= 0) check.forbidden('field can not be less than status.capacity')
}

function validateAttributesClass(next: V1PersistentVolumeClaim, prev: V1PersistentVolumeClaim, check: Check<unknown>): void {
  const name = next.spec.volumeAttributesClassName
  if (name === prev.spec.volumeAttributesClassName || prev.status?.currentVolumeAttributesClassName === undefined) return
  const when = 'is forbidden when status.currentVolumeAttributesClassName is not nil'
  if (name === undefined) check.forbidden(`update to nil ${when}`)
  else if (name === '') check.forbidden(`update to empty string ${when}`)
}

const resizeStatuses = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
].sort()

export function validateClaimStatusUpdate(check: Check<V1PersistentVolumeClaim>): void {
  const next = check.value
  if (!next.metadata.resourceVersion) check.dynamic('resourceVersion').required()
  if (!next.spec.accessModes?.length) check.dynamic('Spec').dynamic('accessModes').required()
  const { capacity = {}, allocatedResources = {}, allocatedResourceStatuses = {} } = next.status ?? {}
  for (const [name, quantity] of Object.entries(capacity)) validateNotBelowZero(check.at('status').at('capacity').key(name).with(quantity))
  const atStatuses = check.at('status').at('allocatedResourceStatuses')
  for (const [name, status] of Object.entries(allocatedResourceStatuses)) {
    validateClaimResourceName(atStatuses.with(name))
    if (!resizeStatuses.includes(status)) atStatuses.notSupported(resizeStatuses, name)
  }
  const atResources = check.at('status').at('allocatedResources')
  for (const [name, quantity] of Object.entries(allocatedResources)) {
    if (!validateClaimResourceName(atResources.with(name))) continue
    const at = atResources.key(name)
    const before = at.errors.length
    validateNotBelowZero(at.with(quantity))
    if (at.errors.length === before) validateResourceQuantity('storage', at.with(quantity))
  }
}
