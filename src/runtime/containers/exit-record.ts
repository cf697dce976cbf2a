import { exitRecordBytes } from '#runtime/launch/container-script.ts'

export type Exit = { exitCode: number; finishedNanos: bigint }

/** What a container's monitor has written; undefined while it has not. */
export function exitOf(bytes: Uint8Array): Exit | undefined {
  if (bytes.length < exitRecordBytes) return undefined
  const record = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return {
    exitCode: exitCodeOf(record.readInt32LE(0)),
    finishedNanos: record.readBigInt64LE(8) * 1_000_000_000n + record.readBigInt64LE(16),
  }
}

/** Of how a process ended as the kernel says it: a signal counts from 128 on. */
export function exitCodeOf(status: number): number {
  const signal = status & 0x7f
  return signal === 0 ? (status >> 8) & 0xff : 128 + signal
}
