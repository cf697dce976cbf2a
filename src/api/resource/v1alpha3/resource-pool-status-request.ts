import type { Check } from '#api/meta/check.ts'
import { nameColumn } from '#api/meta/columns.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { maximumError, minimumError, resourcePoolName } from '#api/meta/formats.ts'
import { ageOf } from '#api/meta/human-duration.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { byteLength, longName, longNameCaseless, mustBe } from '#api/meta/names.ts'
import { ResourcePoolStatusRequest } from '#api/resource/v1alpha3/kinds.gen.ts'
import { poolColumns, poolStatusCell } from '#api/resource/v1alpha3/pool-columns.ts'
import type {
  V1alpha3PoolStatus,
  V1alpha3ResourcePoolStatusRequestSpec,
  V1alpha3ResourcePoolStatusRequestStatus,
} from '#api/resource/v1alpha3/types.gen.ts'
import { defineResource } from '#api/resource.ts'

const same = equalityOf(ResourcePoolStatusRequest)

const defaultLimit = 100
const maxLimit = 1000
const maxPools = 1000
const maxConditions = 10
const maxErrorBytes = 256

/** A question that is answered once, in its status. */
export const resourcePoolStatusRequestResource = defineResource(ResourcePoolStatusRequest, {
  featureGate: 'DRAResourcePoolStatus',
  defaultPropagation: 'Background',
  returnsDeletedObject: true,

  defaults(request) {
    request.spec ??= {} as V1alpha3ResourcePoolStatusRequestSpec
    request.spec.limit ??= defaultLimit
  },
  validate: (_object, check) => validateSpec(check.at('spec')),
  validateUpdate(next, prev, check) {
    if (!same.at('spec')(next.spec, prev.spec)) check.at('spec').invalid('field is immutable', null)
  },

  subresources: {
    status: {
      keepsMetadata: 'all',
      validateUpdate({ status }, prev, check) {
        const at = check.at('status')
        if (prev.status) mustNotChange(at, prev.status, same.at('status'), '*resource.ResourcePoolStatusRequestStatus')
        else if (status) validateConditions(at.at('conditions'))
        if (status && !same.at('status')(status, prev.status)) validateStatus(at.present)
      },
    },
  },

  columns: [
    nameColumn,
    { name: 'Driver', type: 'string', description: 'The driver to query pools for.', cell: ({ spec }) => spec.driver },
    ...poolColumns,
    { name: 'Pools', type: 'integer', description: 'Total number of matching pools.', cell: ({ status }) => status?.poolCount ?? 0 },
    { name: 'Status', type: 'string', description: 'Processing status.', cell: ({ status }) => poolStatusCell(status) },
    {
      name: 'Completed',
      type: 'string',
      description: 'Time since the observation completed.',
      cell({ status }, { nowMs }) {
        const completed = status?.conditions?.find(({ type, status: value }) => type === 'Complete' && value === 'True')
        return completed ? ageOf(completed.lastTransitionTime, nowMs) : '<none>'
      },
    },
  ],
})

function validateSpec(check: Check<V1alpha3ResourcePoolStatusRequestSpec>): void {
  const { driver, poolName, limit } = check.value
  if (!driver) check.at('driver').required()
  else mustBe(longNameCaseless, check.at('driver'))
  if (poolName !== undefined) resourcePoolName(check.at('poolName').present)
  if (limit === undefined) check.at('limit').required()
  else {
    if (limit > maxLimit) check.at('limit').invalid(maximumError(maxLimit))
    mustBeAtLeast(1, check.at('limit'))
  }
}

function mustBeAtLeast(min: number, check: Check<number | undefined>): void {
  const value = check.value
  if (value !== undefined && value < min) check.invalid(minimumError(min))
}

function validateStatus(check: Check<V1alpha3ResourcePoolStatusRequestStatus>): void {
  const { poolCount, pools = [], conditions = [] } = check.value
  if (poolCount === undefined) check.at('poolCount').required()
  else mustBeAtLeast(0, check.at('poolCount'))
  if (pools.length > maxPools) check.at('pools').tooMany(pools.length, maxPools)
  else check.at('pools').each(validatePool)
  if (conditions.length > maxConditions) check.at('conditions').tooMany(conditions.length, maxConditions)
}

function validatePool(check: Check<V1alpha3PoolStatus>): void {
  const pool = check.value
  if (!pool.driver) check.at('driver').required()
  else mustBe(longNameCaseless, check.at('driver'))
  if (!pool.poolName) check.at('poolName').required()
  else resourcePoolName(check.at('poolName'))
  if (!pool.generation) check.at('generation').required()
  else mustBeAtLeast(0, check.at('generation'))
  mustBeAtLeast(1, check.at('resourceSliceCount'))
  for (const count of ['totalDevices', 'allocatedDevices', 'availableDevices', 'unavailableDevices'] as const) {
    mustBeAtLeast(0, check.at(count).with(pool[count]))
  }
  if (pool.nodeName !== undefined) mustBe(longName, check.at('nodeName').present)
  if (byteLength(pool.validationError ?? '') > maxErrorBytes) check.at('validationError').tooLong(maxErrorBytes)
}
