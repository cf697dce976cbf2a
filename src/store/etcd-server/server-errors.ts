import { errorMessage } from '#base/error-message.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { etcdMessages } from '#store/etcd/etcd-errors.ts'
import {
  CompactedError,
  DuplicateKeyError,
  EmptyKeyError,
  FutureRevisionError,
  InvalidKeyError,
  LeaseExistsError,
  LeaseNotFoundError,
  StoreUnavailableError,
  ValueTooLargeError,
} from '#store/store.ts'

type ErrorClass = abstract new (...args: never[]) => Error

/** etcd's code and words for each error of the store. */
const statuses: [ErrorClass, number, string | undefined][] = [
  [CompactedError, grpcCodes.outOfRange, etcdMessages.compacted],
  [FutureRevisionError, grpcCodes.outOfRange, etcdMessages.future],
  [EmptyKeyError, grpcCodes.invalidArgument, etcdMessages.emptyKey],
  [InvalidKeyError, grpcCodes.invalidArgument, undefined],
  [DuplicateKeyError, grpcCodes.invalidArgument, etcdMessages.duplicateKey],
  [ValueTooLargeError, grpcCodes.invalidArgument, etcdMessages.tooLarge],
  [LeaseNotFoundError, grpcCodes.notFound, etcdMessages.leaseNotFound],
  [LeaseExistsError, grpcCodes.failedPrecondition, etcdMessages.leaseExists],
  [StoreUnavailableError, grpcCodes.unavailable, undefined],
]

export function grpcErrorOf(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error
  const message = errorMessage(error)
  const [, code = grpcCodes.unknown, words = message] = statuses.find(([type]) => error instanceof type) ?? []
  return new GrpcError(code, words)
}

export function unsupported(what: string): GrpcError {
  return new GrpcError(grpcCodes.unimplemented, `typernetes: ${what} is not supported`)
}
