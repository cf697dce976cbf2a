import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { etcdMessages } from '#store/etcd/etcd-errors.ts'
import { unsupported } from '#store/etcd-server/server-errors.ts'
import { keyOf, pbKeyValueOf, rangeOf } from '#store/etcd-server/server-keys.ts'
import { sortedAndFiltered } from '#store/etcd-server/sorted-range.ts'
import type { Compare, CompareOp, Operation, OperationResult, RangeResult, Store } from '#store/store.ts'
import {
  compareResults,
  compareTargets,
  type PbCompare,
  type PbPutRequest,
  type PbRangeRequest,
  type PbRequestOp,
  type PbResponseOp,
  type PbTxnRequest,
} from '#wire/etcd-messages.ts'

/** What a range answers with; the header is the caller's. */
export async function serverRange(store: Store, request: PbRangeRequest) {
  const result = await store.range(rangeRequestOf(request))
  return { ...rangeResponse(result, request), revision: result.revision }
}

export async function serverPut(store: Store, request: PbPutRequest) {
  if (request.ignoreValue || request.ignoreLease) return putKeeping(store, request)
  const { results, revision } = await store.txn({ success: [putOf(request)] })
  return { revision, ...putResponse(results[0], request.prevKv) }
}

/** Keeps the value or the lease of the key as it is, which takes a look before: tried again when somebody was faster. */
async function putKeeping(store: Store, request: PbPutRequest) {
  if (request.ignoreValue && request.value.byteLength > 0) throw new GrpcError(grpcCodes.invalidArgument, etcdMessages.valueProvided)
  if (request.ignoreLease && request.lease !== 0n) throw new GrpcError(grpcCodes.invalidArgument, etcdMessages.leaseProvided)
  const key = keyOf(request.key)
  for (;;) {
    const current = (await store.range({ key })).kvs[0]
    if (!current) throw new GrpcError(grpcCodes.invalidArgument, etcdMessages.keyNotFound)
    const value = request.ignoreValue ? current.value : request.value
    const lease = request.ignoreLease ? current.lease : request.lease
    const { succeeded, results, revision } = await store.txn({
      compare: [{ key, target: 'modRevision', op: '=', value: current.modRevision }],
      success: [{ put: { key, value, lease } }],
    })
    if (succeeded) return { revision, ...putResponse(results[0], request.prevKv) }
  }
}

export async function serverTxn(store: Store, request: PbTxnRequest) {
  const operations = { success: request.success.map(operationOf), failure: request.failure.map(operationOf) }
  const { succeeded, results, revision } = await store.txn({ compare: request.compare.map(compareOf), ...operations })
  const asked = succeeded ? request.success : request.failure
  return { succeeded, revision, responses: results.map((result, index) => responseOf(result, asked[index])) }
}

/** What is to be sorted or filtered is read whole, values included: they may be what it is sorted by. */
function rangeRequestOf(request: PbRangeRequest) {
  const { key, rangeEnd, revision, limit, keysOnly, countOnly } = request
  const range = { ...rangeOf(key, rangeEnd), revision, countOnly }
  return sortedAndFiltered(request) ? range : { ...range, limit, keysOnly }
}

function putOf({ key, value, lease }: PbPutRequest): Operation {
  return { put: { key: keyOf(key), value, lease } }
}

function operationOf({ requestPut, requestRange, requestDeleteRange, requestTxn }: PbRequestOp): Operation {
  if (requestPut) {
    if (requestPut.ignoreValue || requestPut.ignoreLease) throw unsupported('keeping a value or a lease within a transaction')
    return putOf(requestPut)
  }
  if (requestDeleteRange) return { delete: rangeOf(requestDeleteRange.key, requestDeleteRange.rangeEnd) }
  if (requestRange) return { range: rangeRequestOf(requestRange) }
  throw requestTxn ? unsupported('a transaction within a transaction') : new GrpcError(grpcCodes.invalidArgument, etcdMessages.emptyKey)
}

function compareOf(compare: PbCompare): Compare {
  if (compare.rangeEnd.byteLength > 0) throw unsupported('comparing a range')
  const op = nameOf(compareResults, compare.result) as CompareOp
  const target = nameOf(compareTargets, compare.target) as Compare['target']
  return { key: keyOf(compare.key), target, op, value: compare[target] } as Compare
}

function nameOf(numbers: Record<string, number>, number: number): string {
  const name = Object.keys(numbers).find((each) => numbers[each] === number)
  if (name === undefined)
    throw new GrpcError(grpcCodes.invalidArgument, `typernetes: ${number} is none of ${Object.keys(numbers).join(', ')}`)
  return name
}

function putResponse(result: OperationResult | undefined, wantsPrev: boolean) {
  const prev = wantsPrev && result && 'put' in result ? result.put.prev : undefined
  return prev ? { prevKv: pbKeyValueOf(prev) } : {}
}

export function deleteResponse(result: OperationResult | undefined, wantsPrev: boolean) {
  const { deleted, prev } = result && 'delete' in result ? result.delete : { deleted: 0, prev: [] }
  return { deleted, prevKvs: wantsPrev ? prev.map(pbKeyValueOf) : [] }
}

function rangeResponse(result: RangeResult, asked: PbRangeRequest) {
  const { limit, keysOnly } = asked
  const shaped = sortedAndFiltered(asked)
  const kvs = shaped ? shaped(result.kvs) : result.kvs
  const shown = shaped && limit > 0 ? kvs.slice(0, limit) : kvs
  const more = shaped ? shown.length < kvs.length : result.more
  return { kvs: shown.map((kv) => pbKeyValueOf(keysOnly ? { ...kv, value: noBytes } : kv)), count: result.count, more }
}

const noBytes = Buffer.alloc(0)

function responseOf(result: OperationResult, asked: PbRequestOp | undefined): PbResponseOp {
  const header = undefined
  if ('put' in result) return { responsePut: { header, prevKv: undefined, ...putResponse(result, asked?.requestPut?.prevKv ?? false) } }
  if ('delete' in result) return { responseDeleteRange: { header, ...deleteResponse(result, asked?.requestDeleteRange?.prevKv ?? false) } }
  if (asked?.requestRange === undefined) throw new Error('a range was answered that nobody asked for')
  return { responseRange: { header, ...rangeResponse(result.range, asked.requestRange) } }
}
