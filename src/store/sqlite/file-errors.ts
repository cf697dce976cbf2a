import { StoreError } from '#store/store.ts'

/** Why a store cannot be opened. Every message says what to do. */
export type OpenProblem = 'damaged' | 'notAStore' | 'newerSchema' | 'inUse' | 'notWritable'

class DamagedStoreError extends StoreError {
  override name = 'DamagedStoreError'
}
export class NotAStoreError extends StoreError {
  override name = 'NotAStoreError'
}
export class NewerSchemaError extends StoreError {
  override name = 'NewerSchemaError'
}
export class DirectoryInUseError extends StoreError {
  override name = 'DirectoryInUseError'
}
export class DirectoryNotWritableError extends StoreError {
  override name = 'DirectoryNotWritableError'
}

const classes = {
  damaged: DamagedStoreError,
  notAStore: NotAStoreError,
  newerSchema: NewerSchemaError,
  inUse: DirectoryInUseError,
  notWritable: DirectoryNotWritableError,
} satisfies Record<OpenProblem, typeof StoreError>

/** Errors lose their class between threads; the problem's name brings it back. */
export function openError(problem: OpenProblem, message: string): StoreError {
  return new classes[problem](message)
}

export function openProblemOf(error: unknown): OpenProblem | undefined {
  return (Object.keys(classes) as OpenProblem[]).find((problem) => error instanceof classes[problem])
}

export function damaged(path: string, detail: string): DamagedStoreError {
  return new DamagedStoreError(
    `the store's file ${path} is damaged: ${detail}. ` +
      'Nothing was changed. Bring back a snapshot with `typernetes snapshot restore FILE --force`, or move the file away to start empty.',
  )
}
