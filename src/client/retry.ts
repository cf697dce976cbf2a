/** Trying again, and waiting for what others do. */

import type { Kind } from '#api/kind.ts'
import { ignoreNotFound, isConflict } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Client } from '#client/client.ts'

/** Runs `write` again, with short pauses, as long as it meets a Conflict. It must read the object anew each time. */
export async function retryOnConflict<T>(clock: Clock, write: () => Promise<T>, { attempts = 5, firstPauseMs = 10 } = {}): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      if (!isConflict(error) || attempt >= attempts) throw error
      await clock.sleep(firstPauseMs * attempt)
    }
  }
}

export type WaitOptions = { clock: Clock; timeoutMs?: number; signal?: AbortSignal }

/** Follows one object until `holds` is true of it, or of undefined while it does not exist; resolves with what it was true of. */
export async function waitFor<T extends KubernetesObject>(
  client: Client,
  kind: Kind<T>,
  { namespace = '', name }: { namespace?: string; name: string },
  holds: (object: T | undefined) => boolean,
  { clock, timeoutMs = 30_000, signal }: WaitOptions,
): Promise<T | undefined> {
  const timeUp = new AbortController()
  const timer = clock.after(timeoutMs, () => timeUp.abort(new Error(`${kind.kind} ${name} was not as awaited after ${timeoutMs} ms`)))
  const over = signal === undefined ? timeUp.signal : AbortSignal.any([timeUp.signal, signal])
  try {
    for (;;) {
      over.throwIfAborted()
      const object = await client.get(kind, namespace, name).catch(ignoreNotFound)
      if (holds(object)) return object
      const resourceVersion = object?.metadata?.resourceVersion
      const events = client.watch(kind, {
        namespace,
        fieldSelector: `metadata.name=${name}`,
        signal: over,
        ...defined({ resourceVersion }),
      })
      for await (const { type, object: seen } of events) {
        if (type === 'BOOKMARK') continue
        const present = type === 'DELETED' ? undefined : seen
        if (holds(present)) return present
      }
    }
  } catch (error) {
    throw over.aborted ? over.reason : error
  } finally {
    timer.cancel()
    timeUp.abort()
  }
}
