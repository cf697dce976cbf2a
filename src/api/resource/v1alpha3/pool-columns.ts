/** What a request for the status of pools shows of its answer. */
import type {
  V1alpha3PoolStatus,
  V1alpha3ResourcePoolStatusRequest,
  V1alpha3ResourcePoolStatusRequestStatus,
} from '#api/resource/v1alpha3/types.gen.ts'
import type { Column } from '#api/resource.ts'

type Request = V1alpha3ResourcePoolStatusRequest

const sumColumn = (name: string, description: string, of: (pool: V1alpha3PoolStatus) => number): Column<Request> => ({
  name,
  type: 'string',
  description,
  cell: ({ status }) => (status && !isFailed(status) ? String((status.pools ?? []).reduce((sum, pool) => sum + of(pool), 0)) : '-'),
})

export const poolColumns: readonly Column<Request>[] = [
  sumColumn('Total', 'Total number of devices across all pools.', ({ totalDevices }) => totalDevices ?? 0),
  sumColumn('Available', 'Number of available devices across all pools.', ({ availableDevices }) => availableDevices ?? 0),
  sumColumn('Allocated', 'Number of allocated devices across all pools.', ({ allocatedDevices }) => allocatedDevices ?? 0),
  sumColumn('Unavailable', 'Number of unavailable devices across all pools.', ({ unavailableDevices }) => unavailableDevices ?? 0),
  sumColumn('Errors', 'Number of pools with validation errors.', ({ validationError }) => (validationError === undefined ? 0 : 1)),
]

/** The first of the two conditions that end a request decides. */
function outcome(status: V1alpha3ResourcePoolStatusRequestStatus | undefined): string | undefined {
  return status?.conditions?.find((each) => each.status === 'True' && (each.type === 'Complete' || each.type === 'Failed'))?.type
}

const isFailed = (status: V1alpha3ResourcePoolStatusRequestStatus) => outcome(status) === 'Failed'

export function poolStatusCell(status: V1alpha3ResourcePoolStatusRequestStatus | undefined): string {
  const shown = outcome(status) ?? 'Pending'
  const { pools = [], poolCount = 0 } = status ?? {}
  return shown === 'Complete' && poolCount > pools.length ? `Complete (${pools.length}/${poolCount} pools)` : shown
}
