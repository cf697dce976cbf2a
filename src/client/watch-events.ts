/** The events of a watch, out of the bytes they arrive in. */
import { StatusError } from '#api/meta/status-error.ts'
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'

export type WatchEvent<T> = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: T }

type WireEvent<T> = WatchEvent<T> | { type: 'ERROR'; object: V1Status }

const newline = 10

/** Those that arrive together come together. Throws a StatusError for an ERROR event, after those that were whole before it. */
export async function* watchEventBatches<T extends KubernetesObject>(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent<T>[]> {
  /** The beginning of an event whose end has not come yet. */
  let open: Uint8Array[] = []
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(newline) + 1
    if (end === 0) {
      open.push(chunk)
      continue
    }
    // Lines end between characters, so what is decoded here is whole.
    const whole = chunk.subarray(0, end)
    const bytes = open.length === 0 ? whole : Buffer.concat([...open, whole])
    open = end === chunk.length ? [] : [chunk.subarray(end)]
    yield* untilRefused(eventsIn<T>(textOf(bytes)))
  }
}

/** As `watchEventBatches`, of events that came as values. */
export async function* watchValueBatches<T extends KubernetesObject>(
  batches: AsyncIterable<readonly unknown[]>,
): AsyncGenerator<WatchEvent<T>[]> {
  for await (const batch of batches) yield* untilRefused(batch as WireEvent<T>[])
}

function* untilRefused<T>(events: Iterable<WireEvent<T>>): Generator<WatchEvent<T>[]> {
  const batch: WatchEvent<T>[] = []
  let refused: StatusError | undefined
  for (const event of events) {
    if (event.type === 'ERROR') {
      refused = new StatusError(event.object)
      break
    }
    batch.push(event)
  }
  if (batch.length > 0) yield batch
  if (refused !== undefined) throw refused
}

function* eventsIn<T>(text: string): Generator<WireEvent<T>> {
  let start = 0
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
    const line = text.slice(start, end)
    start = end + 1
    if (line.trim() !== '') yield JSON.parse(line) as WireEvent<T>
  }
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}
