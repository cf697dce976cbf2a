import { isInRange } from '#store/mvcc/key-order.ts'
import {
  type Compare,
  type CompareOp,
  DuplicateKeyError,
  EmptyKeyError,
  InvalidKeyError,
  type KeyRange,
  type KeyValue,
  type Operation,
  type Transaction,
  ValueTooLargeError,
} from '#store/store.ts'

/** etcd's limit of a request, here of each value. */
const largestValueBytes = 1.5 * 1024 * 1024

/** Refuses what can never be done, whatever the state. */
export function checkTransaction(transaction: Transaction): void {
  for (const compare of transaction.compare ?? []) checkKey(compare.key)
  checkBranch(transaction.success)
  if (transaction.failure) checkBranch(transaction.failure)
}

export function checkRange(range: KeyRange): void {
  // The empty prefix is every key, and so is a range that starts before the first.
  if (range.prefix === undefined && range.end === undefined) checkKey(range.key)
}

function checkBranch(operations: Operation[]): void {
  for (const operation of operations) {
    if ('put' in operation) {
      checkKey(operation.put.key)
      const size = operation.put.value.byteLength
      if (size > largestValueBytes) {
        const message = `the value of ${operation.put.key} has ${size} bytes; at most ${largestValueBytes} are allowed`
        throw new ValueTooLargeError(message, largestValueBytes)
      }
    } else {
      checkRange('delete' in operation ? operation.delete : operation.range)
    }
  }
  if (operations.length > 1) checkOverlaps(operations)
}

/** A key changes at most once in a transaction, since its versions are told apart by their revision. */
function checkOverlaps(operations: Operation[]): void {
  const puts = new Set<string>()
  const deletes: KeyRange[] = []
  for (const operation of operations) {
    if ('delete' in operation) deletes.push(operation.delete)
    if (!('put' in operation)) continue
    const { key } = operation.put
    if (puts.has(key)) throw new DuplicateKeyError(`${key} is written twice in one transaction`)
    puts.add(key)
  }
  for (const range of deletes) {
    for (const key of puts) {
      if (isInRange(key, range)) throw new DuplicateKeyError(`${key} is both written and deleted in one transaction`)
    }
  }
}

function checkKey(key: string): void {
  if (key === '') throw new EmptyKeyError('a key must not be empty')
  if (!key.isWellFormed()) throw new InvalidKeyError('a key must be well-formed text: it has half of a surrogate pair')
}

/** Whether a comparison holds for the key's value now; `undefined` stands for a key that does not exist. */
export function holds(compare: Compare, kv: KeyValue | undefined): boolean {
  if (compare.target === 'value') return kv !== undefined && isOrdered(Buffer.compare(kv.value, compare.value), compare.op)
  if (compare.target === 'lease') return isOrdered(sign(kv?.lease ?? 0n, compare.value), compare.op)
  return isOrdered(sign(kv?.[compare.target] ?? 0, compare.value), compare.op)
}

function sign<T extends number | bigint>(a: T, b: T): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function isOrdered(order: number, op: CompareOp): boolean {
  switch (op) {
    case '=':
      return order === 0
    case '!=':
      return order !== 0
    case '<':
      return order < 0
    case '>':
      return order > 0
  }
}
