import { DriverError } from '#controllers/volume-driver/driver-error.ts'
import type { VolumeDriver } from '#controllers/volume-driver/volume-driver.ts'

/** What the loops of one driver share. */
export type DriverLoop = {
  readonly driver: VolumeDriver
  /** Ends calls of the driver when the loops are stopped. */
  readonly signal: AbortSignal
}

/** What we know of a call that failed: nothing, unless the driver says so. */
export const isFinal = (error: unknown): boolean => error instanceof DriverError
export const isInfeasible = (error: unknown): boolean => error instanceof DriverError && error.kind === 'infeasible'
export const isForElsewhere = (error: unknown): boolean => error instanceof DriverError && error.kind === 'elsewhere'
