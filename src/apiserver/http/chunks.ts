/** The memory that large answers are made in. Taking it from the system for each would cost more than filling it. */
import { keepsSpareMemory } from '#base/spare-memory.ts'

const chunkBytes = 256 * 1024
const mostKept = 32
const free: Buffer[] = []
keepsSpareMemory(() => {
  free.length = 0
})

/** Of the usual size, or as large as it has to be. What is in it is of no meaning. */
export function takeChunk(neededBytes: number): Buffer {
  if (neededBytes > chunkBytes) return Buffer.allocUnsafeSlow(neededBytes)
  return free.pop() ?? Buffer.allocUnsafeSlow(chunkBytes)
}

/** Gives back what `takeChunk` gave, or its filled part, once nobody looks at it any more; anything else is left alone. */
export function reuseChunk({ buffer, byteOffset }: Uint8Array): void {
  if (byteOffset === 0 && buffer.byteLength === chunkBytes && free.length < mostKept) free.push(Buffer.from(buffer as ArrayBuffer))
}
