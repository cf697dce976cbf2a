import type { V1ResourceClaim, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import type {
  V1alpha3PoolStatus,
  V1alpha3ResourcePoolStatusRequestSpec,
  V1alpha3ResourcePoolStatusRequestStatus,
} from '#api/resource/v1alpha3/types.gen.ts'
import { largest } from '#base/append.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

const defaultLimit = 100
const maxErrorBytes = 256

/** What there is in a driver's pools now: as many of them as were asked for. A pool whose slices are not all there has an error. */
export function poolStatus(
  { driver, poolName, limit = defaultLimit }: V1alpha3ResourcePoolStatusRequestSpec,
  slices: readonly V1ResourceSlice[],
  claims: readonly V1ResourceClaim[],
  now: string,
): V1alpha3ResourcePoolStatusRequestStatus {
  const asked = slices.filter(({ spec }) => spec.driver === driver && (poolName === undefined || spec.pool.name === poolName))
  const allocated = allocatedDevices(driver, claims)
  const pools = [...Map.groupBy(asked, ({ spec }) => spec.pool.name)]
    .map(([name, all]) => statusOfPool(driver, name, all, allocated.get(name) ?? 0))
    .sort((one, other) => (one.poolName < other.poolName ? -1 : 1))
  const shown = pools.slice(0, limit)
  const incomplete = shown.filter(({ validationError }) => validationError !== undefined).length
  const message = `Calculated status for ${shown.length} pools${incomplete > 0 ? ` (${incomplete} incomplete)` : ''}`
  return {
    poolCount: pools.length,
    ...omitEmpty({ pools: shown }),
    conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: now, reason: 'CalculationComplete', message }],
  }
}

function allocatedDevices(driver: string, claims: readonly V1ResourceClaim[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { status } of claims) {
    for (const result of status?.allocation?.devices?.results ?? []) {
      if (result.driver === driver) counts.set(result.pool, (counts.get(result.pool) ?? 0) + 1)
    }
  }
  return counts
}

/** Slices of older generations are on their way out. */
function statusOfPool(driver: string, poolName: string, all: readonly V1ResourceSlice[], allocated: number): V1alpha3PoolStatus {
  const generation = largest(
    0,
    all.map(({ spec }) => spec.pool.generation),
  )
  const slices = all.filter(({ spec }) => spec.pool.generation === generation)
  const [first] = slices
  const isOfOneNode = slices.every(({ spec }) => spec.nodeName === first?.spec.nodeName)
  const head = { driver, poolName, generation, ...defined({ nodeName: isOfOneNode ? first?.spec.nodeName : undefined }) }
  const expected = first?.spec.pool.resourceSliceCount ?? 0
  if (slices.length < expected) {
    const text = `pool ${driver}/${poolName} is incomplete: observed ${slices.length}/${expected} slices at generation ${generation}`
    return { ...head, validationError: text.slice(0, maxErrorBytes) }
  }
  const total = slices.reduce((sum, { spec }) => sum + (spec.devices?.length ?? 0), 0)
  return {
    ...head,
    resourceSliceCount: slices.length,
    totalDevices: total,
    allocatedDevices: allocated,
    availableDevices: Math.max(0, total - allocated),
    unavailableDevices: 0,
  }
}
