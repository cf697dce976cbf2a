import { GrpcError, grpcCodes } from '#base/grpc.ts'
import {
  CompactedError,
  DuplicateKeyError,
  EmptyKeyError,
  FutureRevisionError,
  LeaseExistsError,
  LeaseNotFoundError,
  StoreError,
  StoreUnavailableError,
  ValueTooLargeError,
} from '#store/store.ts'

/** etcd's own words, by which its errors are known. */
export const etcdMessages = {
  compacted: 'etcdserver: mvcc: required revision has been compacted',
  future: 'etcdserver: mvcc: required revision is a future revision',
  emptyKey: 'etcdserver: key is not provided',
  duplicateKey: 'etcdserver: duplicate key given in txn request',
  tooLarge: 'etcdserver: request is too large',
  leaseNotFound: 'etcdserver: requested lease not found',
  leaseExists: 'etcdserver: lease already exists',
  noSpace: 'etcdserver: mvcc: database space exceeded',
  noLeader: 'etcdserver: no leader',
  valueProvided: 'etcdserver: value is provided',
  leaseProvided: 'etcdserver: lease is provided',
  keyNotFound: 'etcdserver: key not found',
} as const

/** Deletions are let through meanwhile. */
export const howToMakeSpace =
  'nothing more is written until etcd is compacted (etcdctl compact), defragmented (etcdctl defrag) and its alarm is disarmed (etcdctl alarm disarm)'

/** What the store says where etcd said this. `asked` is the revision the request was about. */
export function storeErrorOf(error: unknown, asked: { revision: number; compacted: number; newest: number }): Error {
  if (!(error instanceof GrpcError)) return error instanceof Error ? error : new Error(String(error))
  switch (error.message) {
    case etcdMessages.compacted:
      return new CompactedError(asked.revision, asked.compacted)
    case etcdMessages.future:
      return new FutureRevisionError(asked.revision, asked.newest)
    case etcdMessages.emptyKey:
      return new EmptyKeyError('a key must not be empty')
    case etcdMessages.duplicateKey:
      return new DuplicateKeyError('a key is changed twice in one transaction')
    case etcdMessages.tooLarge:
      return new ValueTooLargeError(etcdMessages.tooLarge)
    case etcdMessages.leaseNotFound:
      return new LeaseNotFoundError('the lease does not exist')
    case etcdMessages.leaseExists:
      return new LeaseExistsError('the lease exists already')
    case etcdMessages.noSpace:
      return new StoreUnavailableError(`${etcdMessages.noSpace}: ${howToMakeSpace}`)
  }
  if (error.code === grpcCodes.unauthenticated || error.code === grpcCodes.permissionDenied) {
    return new StoreUnavailableError(`etcd refuses this client: ${error.message}`)
  }
  if (error.code === grpcCodes.unavailable) return new StoreUnavailableError(`etcd does not answer: ${error.message}`, { cause: error })
  return new StoreError(`etcd: ${error.message}`, { cause: error })
}
