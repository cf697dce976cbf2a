/** What the serving thread and the thread that owns the file say to each other. */
import type { OpenProblem } from '#store/sqlite/file-errors.ts'

/** Everything that becomes durable together. */
export type Batch = {
  /** Rises with each batch, across restarts too. */
  number: number
  /** Packed versions; see record.ts. */
  records: Uint8Array
  lastRow: number
  /** Rows that nobody can ask for any more. */
  forgotten: Float64Array
  granted: { id: bigint; grantedSeconds: number }[]
  revoked: bigint[]
  compacted: number | undefined
}

/** Enough of a batch to find out later whether it was written. */
export type BatchMark = Pick<Batch, 'number' | 'lastRow'>

export type Place = { directory: string; processId: number }

export type Opened = { revision: number; compacted: number; batchNumber: number; leases: { id: bigint; grantedSeconds: number }[] }
export type Outcome = 'written' | 'notWritten' | 'unknown'

/** The calls, each with what it takes and what it gives. */
export type FileCalls = {
  open: { takes: Place; gives: Opened }
  /** Hands out everything: the records come before the answer, in order, in parts that end at the end of a revision. */
  load: { takes: undefined; gives: { lastRow: number } }
  commit: { takes: Batch; gives: { failure?: { message: string; outcome: Outcome } } }
  /** Opens the file again where it had to be closed, and makes sure that it takes writes; throws while it does not. */
  recover: { takes: Place & { uncertain: BatchMark | undefined }; gives: { outcome: Outcome | undefined } }
  /** Gives pages back to the file system, a few at a time; true while there are more. */
  tidy: { takes: undefined; gives: boolean }
  /** Rewrites the file without gaps. */
  vacuum: { takes: undefined; gives: undefined }
  size: { takes: undefined; gives: { totalBytes: number; usedBytes: number } }
  close: { takes: undefined; gives: undefined }
}

export type CallName = keyof FileCalls
export type FileRequest<Name extends CallName = CallName> = { id: number; call: Name; takes: FileCalls[Name]['takes'] }
export type FileReply =
  | { id: number; records: Uint8Array<ArrayBuffer> }
  | { id: number; gives: FileCalls[CallName]['gives'] }
  | { id: number; error: { message: string; problem: OpenProblem | undefined } }
