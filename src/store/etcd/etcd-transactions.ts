/** Between the store's requests and etcd's. */
import { keyValueOf, rangeBytes } from '#store/etcd/key-bytes.ts'
import type { Compare, Operation, OperationResult, RangeRequest, RangeResult, Transaction, TransactionResult } from '#store/store.ts'
import { compareResults, compareTargets, type PbRangeResponse, type PbResponseOp, type PbTxnResponse } from '#wire/etcd-messages.ts'

export function rangeRequestOf(request: RangeRequest) {
  const { revision = 0, limit = 0, keysOnly = false, countOnly = false } = request
  return { ...rangeBytes(request), revision, limit, keysOnly, countOnly }
}

export function rangeResultOf(response: PbRangeResponse, revision: number): RangeResult {
  return { revision, kvs: response.kvs.map(keyValueOf), count: response.count, more: response.more }
}

export function txnRequestOf({ compare = [], success, failure = [] }: Transaction) {
  return { compare: compare.map(compareOf), success: success.map(requestOf), failure: failure.map(requestOf) }
}

export function txnResultOf(response: PbTxnResponse): TransactionResult {
  const revision = response.header?.revision ?? 0
  return { succeeded: response.succeeded, revision, results: response.responses.map((each) => operationResultOf(each, revision)) }
}

function compareOf(compare: Compare) {
  const base = { key: Buffer.from(compare.key), result: compareResults[compare.op], target: compareTargets[compare.target] }
  return { ...base, [compare.target]: compare.value }
}

function requestOf(operation: Operation) {
  if ('put' in operation) {
    const { key, value, lease = 0n } = operation.put
    return { requestPut: { key: Buffer.from(key), value, lease, prevKv: true } }
  }
  if ('delete' in operation) return { requestDeleteRange: { ...rangeBytes(operation.delete), prevKv: true } }
  return { requestRange: rangeRequestOf(operation.range) }
}

function operationResultOf(response: PbResponseOp, revision: number): OperationResult {
  if (response.responsePut) {
    const { prevKv } = response.responsePut
    return { put: { prev: prevKv && keyValueOf(prevKv) } }
  }
  if (response.responseDeleteRange) {
    const { deleted, prevKvs } = response.responseDeleteRange
    return { delete: { deleted, prev: prevKvs.map(keyValueOf) } }
  }
  if (response.responseRange) return { range: rangeResultOf(response.responseRange, revision) }
  throw new Error('etcd answered an operation with nothing')
}
