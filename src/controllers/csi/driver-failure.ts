/** What an answer of a driver means for what is to be done next, as upstream's sidecars read it. */
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { DriverError } from '#controllers/volume-driver/driver-error.ts'

const aborted = 10
const failedForGood: readonly number[] = [grpcCodes.invalidArgument, grpcCodes.outOfRange, grpcCodes.notFound]
/** Nobody knows what came of the call. */
const unclear: readonly number[] = [grpcCodes.cancelled, grpcCodes.deadlineExceeded, grpcCodes.unavailable, aborted]

export type FailureOptions = { mayBeElsewhere?: boolean; isInfeasible?: boolean }

export async function readingFailures<T>(
  { mayBeElsewhere = false, isInfeasible = false }: FailureOptions,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof GrpcError)) throw error
    const text = `rpc error: code = ${nameOf(error.code)} desc = ${error.message}`
    if (error.code === grpcCodes.resourceExhausted && mayBeElsewhere) throw new DriverError('elsewhere', text, { cause: error })
    if (unclear.includes(error.code) || error.code === grpcCodes.resourceExhausted) throw new Error(text, { cause: error })
    throw new DriverError(isInfeasible && failedForGood.includes(error.code) ? 'infeasible' : 'final', text, { cause: error })
  }
}

const names: Record<number, string> = {
  ...{ 1: 'Canceled', 2: 'Unknown', 3: 'InvalidArgument', 4: 'DeadlineExceeded', 5: 'NotFound', 6: 'AlreadyExists', 7: 'PermissionDenied' },
  ...{ 8: 'ResourceExhausted', 9: 'FailedPrecondition', 10: 'Aborted', 11: 'OutOfRange', 12: 'Unimplemented', 13: 'Internal' },
  ...{ 14: 'Unavailable', 15: 'DataLoss', 16: 'Unauthenticated' },
}

const nameOf = (code: number): string => names[code] ?? `Code(${code})`
