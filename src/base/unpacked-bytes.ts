/** What a compressed file, or a part of it, holds. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'

const chunkBytes = 1 << 20

/** gzip and zstd are told by their first bytes; anything else comes as it is. */
export async function* unpackedBytes(path: string, start: number, sizeBytes: number): AsyncGenerator<Uint8Array> {
  if (sizeBytes === 0) return
  const magic = Buffer.alloc(4)
  await using file = await open(path)
  await file.read(magic, 0, 4, start)
  const source = createReadStream(path, { start, end: start + sizeBytes - 1, highWaterMark: chunkBytes })
  const isGzip = magic[0] === 0x1f && magic[1] === 0x8b
  const isZstd = magic.readUInt32LE(0) === 0xfd2fb528
  if (!isGzip && !isZstd) {
    yield* source
    return
  }
  const unpacker = isGzip ? createGunzip({ chunkSize: chunkBytes }) : createZstdDecompress({ chunkSize: chunkBytes })
  source.on('error', (error) => unpacker.destroy(error))
  yield* source.pipe(unpacker)
}
