import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import {
  defaultClaimSpec,
  dropDisabledClaimFields,
  usesConsumableCapacity,
  validateAdminAccess,
  validateClaimSpec,
  validateGrantedAdminAccess,
} from '#api/resource/v1/claim-spec.ts'
import { deviceKey, validateClaimStatus } from '#api/resource/v1/claim-status.ts'
import { ResourceClaim } from '#api/resource/v1/kinds.gen.ts'
import type { V1ResourceClaim } from '#api/resource/v1/types.gen.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'

export const resourceClaimResource = defineResource(ResourceClaim, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  returnsDeletedObject: true,

  defaults(claim) {
    claim.spec ??= {}
    defaultClaimSpec(claim.spec)
  },
  prepareForCreate(claim, context) {
    dropDisabledClaimFields(claim.spec, undefined, context)
  },
  *validate({ metadata, spec }, check, context) {
    validateAdminAccess(spec, metadata.namespace ?? '', check, context)
    yield* validateClaimSpec(check.at('spec'), context)
  },
  prepareForUpdate(next, prev, context) {
    dropDisabledClaimFields(next.spec, prev.spec, context)
  },
  revalidatesMetadata: false,
  validateUpdate(_next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    mustNotChange(check.at('spec'), prev.spec, equalityOf(ResourceClaim).at('spec'), 'resource.ResourceClaimSpec')
  },

  subresources: {
    status: {
      keepsMetadata: 'all',
      revalidatesMetadata: false,
      prepareForUpdate(next, prev, context) {
        dropDisabledStatusFields(next, prev, context)
        dropDeallocatedDevices(next, prev)
      },
      validateUpdate(next, prev, check, context) {
        const results = next.status?.allocation?.devices?.results
        validateGrantedAdminAccess(results, prev.status?.allocation?.devices?.results, next.metadata.namespace ?? '', check, context)
        validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
        validateClaimStatus(next, prev, check.at('status'))
      },
    },
  },

  columns: [
    nameColumn,
    {
      name: 'State',
      type: 'string',
      description: 'A summary of the current state (allocated, pending, reserved, etc.).',
      cell: stateCell,
    },
    ageColumn,
  ],
})

function stateCell({ metadata, status }: V1ResourceClaim): string {
  const states = metadata.deletionTimestamp ? ['deleted'] : []
  if (status?.allocation) {
    states.push('allocated')
    if (status.reservedFor?.length) states.push('reserved')
  } else if (!metadata.deletionTimestamp) states.push('pending')
  return states.join(',')
}

/** What a device reported ends with its allocation. */
function dropDeallocatedDevices({ status }: V1ResourceClaim, prev: V1ResourceClaim): void {
  if (!status?.devices) return
  const gone = new Set(prev.status?.allocation?.devices?.results?.map(deviceKey))
  for (const result of status.allocation?.devices?.results ?? []) gone.delete(deviceKey(result))
  status.devices = status.devices.filter((device) => !gone.has(deviceKey(device)))
  if (status.devices.length === 0) delete status.devices
}

function dropDisabledStatusFields({ status }: V1ResourceClaim, prev: V1ResourceClaim, { isEnabled }: RuleContext): void {
  if (!status) return
  const results = status.allocation?.devices?.results ?? []
  const before = prev.status?.allocation?.devices?.results ?? []
  if (!isEnabled('DRAResourceClaimDeviceStatus') && !prev.status?.devices?.length) delete status.devices
  if (!isEnabled('DRAConsumableCapacity') && !hasConsumedCapacity(prev)) {
    for (const result of results) {
      delete result.shareID
      delete result.consumedCapacity
    }
    for (const device of status.devices ?? []) delete device.shareID
  }
  if (!isEnabled('DRADeviceBindingConditions') && !before.some((result) => result.bindingConditions ?? result.bindingFailureConditions)) {
    for (const result of results) {
      delete result.bindingConditions
      delete result.bindingFailureConditions
    }
  }
}

function hasConsumedCapacity({ spec, status }: V1ResourceClaim): boolean {
  return (
    usesConsumableCapacity(spec) ||
    (status?.allocation?.devices?.results?.some((result) => result.shareID ?? result.consumedCapacity) ?? false) ||
    (status?.devices?.some(({ shareID }) => shareID !== undefined) ?? false)
  )
}
