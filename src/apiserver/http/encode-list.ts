/** Lists made of the bytes that were stored, in chunks that never hold the event loop for long. */
import { type CachedObject, spliceOffset } from '#apiserver/watch-cache/cached-object.ts'

const chunkBytes = 256 * 1024
const itemStart = '{"metadata":{"resourceVersion":"'

export type ListHead = {
  kind: string
  apiVersion: string
  resourceVersion: string
  continueToken: string
  remainingItemCount: number | undefined
}

export function listHead({ kind, apiVersion, resourceVersion, continueToken, remainingItemCount }: ListHead): string {
  const metadata = {
    resourceVersion,
    ...(continueToken === '' ? {} : { continue: continueToken }),
    ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
  }
  return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(metadata)},"items":[`
}

/** Yields the pieces of `{"kind":…,"items":[…]}`. Items of a list leave kind and apiVersion out, as upstream's do. */
export function* listChunks(head: string, items: readonly CachedObject[]): Generator<Buffer> {
  let chunk = Buffer.allocUnsafe(chunkBytes)
  let used = chunk.write(head, 0)
  for (let index = 0; index < items.length; index++) {
    const { value, revision } = items[index] as CachedObject
    const offset = spliceOffset(value)
    const start = `${index === 0 ? '' : ','}${itemStart}${revision}"${value[offset] === 0x7d ? '' : ','}`
    const needed = start.length + value.byteLength - offset
    if (used + needed > chunk.length) {
      yield chunk.subarray(0, used)
      chunk = Buffer.allocUnsafe(Math.max(chunkBytes, needed))
      used = 0
    }
    used += chunk.write(start, used, 'latin1')
    chunk.set(offset === 0 ? value : value.subarray(offset), used)
    used += value.byteLength - offset
  }
  if (used + 2 > chunk.length) {
    yield chunk.subarray(0, used)
    chunk = Buffer.allocUnsafe(2)
    used = 0
  }
  used += chunk.write(']}', used)
  yield chunk.subarray(0, used)
}
