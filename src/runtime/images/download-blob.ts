/** Brings a blob from a registry into a file, and goes on where it was cut off. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { type Files, hasCode } from '#base/files.ts'
import { type RegistryClient, RegistryError } from '#runtime/images/registry-client.ts'

export type BlobDescriptor = { digest: string; size: number }

export type DownloadSeams = { files: Files; clock: Clock; directory: string; onBytes(count: number): void }

/** Attempts in a row that brought nothing. */
const mostFailures = 5
const pauseMs = 200
const chunkBytes = 1 << 20

/** Resolves with the path of a file that holds it, its digest verified. What was brought before by another process counts. */
export async function downloadBlob(client: RegistryClient, { digest, size }: BlobDescriptor, seams: DownloadSeams): Promise<string> {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${digest} is no digest of a kind that is known`)
  const { files, clock, directory } = seams
  await files.makeDirectory(directory)
  const path = join(directory, digest.slice('sha256:'.length))
  let failures = 0
  for (;;) {
    const before = (await files.stat(path))?.sizeBytes ?? 0
    try {
      if (before < size) await bring(client, digest, path, before, size, seams)
      const found = await digestOf(path, files)
      if (found === digest) return path
      await files.remove(path)
      throw new DigestError(`unexpected commit digest ${found}, expected ${digest}: failed precondition`)
    } catch (error) {
      if (error instanceof DigestError) throw error
      if (hasCode(error, 'ENOSPC')) {
        await files.remove(path)
        throw error
      }
      const isLasting = error instanceof RegistryError && error.status >= 400 && error.status < 500 && error.status !== 429
      const after = (await files.stat(path))?.sizeBytes ?? 0
      failures = after > before ? 0 : failures + 1
      if (isLasting || failures >= mostFailures) throw new Error(`failed to copy: ${errorMessage(error)}`, { cause: error })
      await clock.sleep(pauseMs * 2 ** failures)
    }
  }
}

class DigestError extends Error {}

async function bring(
  client: RegistryClient,
  digest: string,
  path: string,
  from: number,
  size: number,
  { files, clock, onBytes }: DownloadSeams,
): Promise<void> {
  const { body, isWhole } = await within(clock, client.blob(digest, from))
  await using file = await files.open(path, isWhole ? 'w' : 'a')
  let sizeBytes = isWhole ? 0 : from
  for await (const bytes of unlessSilent(clock, body)) {
    sizeBytes += bytes.length
    // More than was announced could fill the disk.
    if (sizeBytes > size) throw new DigestError(`the registry sends more than the ${size} bytes of ${digest}`)
    await file.write(bytes)
    onBytes(bytes.length)
  }
  if (sizeBytes < size) throw new Error(`the registry has sent ${sizeBytes} of ${size} bytes: unexpected EOF`)
}

/** A registry that sends nothing for so long is asked again, and given up in the end: other pulls may wait for this one. */
const silenceMs = 120_000

async function within<T>(clock: Clock, answer: Promise<T>): Promise<T> {
  const silence = Promise.withResolvers<never>()
  using _timer = clock.after(silenceMs, () => silence.reject(new Error(`the registry has sent nothing for ${silenceMs / 1000} s`)))
  return await Promise.race([answer, silence.promise])
}

async function* unlessSilent(clock: Clock, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]()
  try {
    for (let next = await within(clock, pieces.next()); !next.done; next = await within(clock, pieces.next())) yield next.value
  } finally {
    // Not waited for: a body that is silent does not end before its connection does.
    pieces.return?.().catch(() => {})
  }
}

async function digestOf(path: string, files: Files): Promise<string> {
  const hash = createHash('sha256')
  await using file = await files.open(path, 'r')
  for (let at = 0; ; at += chunkBytes) {
    const bytes = await file.readAt(at, chunkBytes)
    hash.update(bytes)
    if (bytes.length < chunkBytes) return `sha256:${hash.digest('hex')}`
  }
}
