/** gzip, done by other threads: the event loop only hands bytes over. */
import { createGunzip, createGzip, type Gunzip, type Gzip, gunzip as gunzipInto, gzip as gzipInto } from 'node:zlib'

/** `level` 1 is fast, 9 small. */
export function gzip(bytes: Uint8Array, level = 6): Promise<Buffer> {
  return new Promise((resolve, reject) => gzipInto(bytes, { level }, (error, result) => (error ? reject(error) : resolve(result))))
}

export function gunzip(bytes: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => gunzipInto(bytes, (error, result) => (error ? reject(error) : resolve(result))))
}

/** The content of a gzip file, piece by piece. */
export const gunzipPieces = (pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> => through(createGunzip(), pieces)

/** A gzip file, piece by piece. */
export const gzipPieces = (pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> => through(createGzip(), pieces)

async function* through(stream: Gunzip | Gzip, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let goOn = () => {}
  stream.on('drain', () => goOn())
  stream.on('close', () => goOn())
  const feeding = (async () => {
    for await (const piece of pieces) {
      if (!stream.destroyed && !stream.write(piece))
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
      // Nobody wants the rest.
      if (stream.destroyed) return
    }
    stream.end()
  })().catch((error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))))
  yield* stream as AsyncIterable<Uint8Array>
  await feeding
}

export type GzipStream = {
  /** False when it should be given no more until `onDrain`. */
  write(chunk: Uint8Array): boolean
  onDrain(callback: () => void): void
  /** What is left comes out, then `onEnd` is called. */
  end(): void
  /** Drops everything; nothing comes out any more. */
  abort(): void
}

/** Compresses what is written piece by piece; compressed pieces come out as they are ready. */
export function gzipStream(options: { level: number; onChunk(chunk: Buffer): void; onEnd(): void }): GzipStream {
  const stream = createGzip({ level: options.level })
  stream.on('data', options.onChunk)
  stream.on('end', options.onEnd)
  return {
    write: (chunk) => stream.write(chunk),
    onDrain: (callback) => stream.once('drain', callback),
    end: () => stream.end(),
    abort: () => stream.destroy(),
  }
}
