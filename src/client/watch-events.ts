/** The events of a watch, out of the bytes they arrive in. */
import { StatusError } from '#api/meta/status-error.ts'
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'

export type WatchEvent<T> = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: T }

/** Throws a StatusError for an ERROR event; events that were whole before come first. */
export async function* watchEvents<T extends KubernetesObject>(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent<T>> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true })
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      const line = rest.slice(0, end)
      rest = rest.slice(end + 1)
      if (line.trim() === '') continue
      const event = JSON.parse(line) as WatchEvent<T> | { type: 'ERROR'; object: V1Status }
      if (event.type === 'ERROR') throw new StatusError(event.object)
      yield event
    }
  }
}
