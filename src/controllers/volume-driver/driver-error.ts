/**
 * How a driver's call failed. Any other error means: nobody knows whether it is still at work, or has succeeded.
 * - `final`: nothing has been done and nothing is being done.
 * - `infeasible`: final, and trying again is of little use until somebody asks for something else.
 * - `elsewhere`: final, and another node may have what this one lacks.
 */
export type DriverErrorKind = 'final' | 'infeasible' | 'elsewhere'

export class DriverError extends Error {
  override name = 'DriverError'
  readonly kind: DriverErrorKind

  constructor(kind: DriverErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}
