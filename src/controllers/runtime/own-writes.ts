/** Remembers what a controller wrote, so that it does not act again before its cache shows it. */
import type { Kind } from '#api/kind.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Clock } from '#base/clock.ts'
import type { WriteListener } from '#client/client.ts'
import type { Informers } from '#client/informer/informers.ts'

/** After so long the cache is believed as it is: a write may have been undone by somebody before we saw it. */
const patienceMs = 300_000

type Awaited = { kind: Kind; holds(): boolean }

export class OwnWrites {
  readonly #informers: Informers
  readonly #clock: Clock
  readonly #byKey = new Map<string, Awaited[]>()
  /** Of those who wait: a promise that they all raced would remember each of them. */
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  constructor(informers: Informers, clock: Clock) {
    this.#informers = informers
    this.#clock = clock
  }

  /** Takes note of the writes that are made on behalf of the key. */
  listener(key: string): WriteListener {
    return (kind, answer, { method, namespace, name, uid }) => {
      const informer = this.#informers.find(kind)
      if (informer === undefined) return
      const version = answer.kind === kind.kind ? answer.metadata?.resourceVersion : undefined
      let holds: () => boolean
      if (version !== undefined) {
        holds = () => informer.hasSeen(version)
      } else if (method === 'DELETE' && name !== '') {
        const gone = uid ?? deletedUid(answer)
        holds = () => {
          const seen = informer.get(namespace, name)
          return seen === undefined || seen.metadata?.uid !== gone || seen.metadata?.deletionTimestamp !== undefined
        }
      } else {
        return
      }
      if (holds()) return
      const known = this.#byKey.get(key)
      if (known === undefined) this.#byKey.set(key, [{ kind, holds }])
      else known.push({ kind, holds })
    }
  }

  /** Undefined when there is nothing to wait for. */
  seen(key: string): Promise<void> | undefined {
    const awaited = this.#byKey.get(key)
    if (awaited === undefined) return undefined
    this.#byKey.delete(key)
    const open = awaited.filter(({ holds }) => !holds())
    if (open.length === 0) return undefined
    const all = Promise.all(open.map(({ kind, holds }) => this.#informers.find(kind)?.when(holds)))
    const enough = Promise.withResolvers<void>()
    const timer = this.#clock.after(patienceMs, enough.resolve)
    this.#waiting.add(enough.resolve)
    return Promise.race([all.then(() => undefined), enough.promise]).finally(() => {
      this.#waiting.delete(enough.resolve)
      timer.cancel()
    })
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Nobody waits any longer: the cache has stopped, and will show nothing more. */
  close(): void {
    this.#isClosed = true
    for (const resolve of this.#waiting) resolve()
  }
}

/** A delete that ends the object at once answers with a Status that tells which it was. */
function deletedUid(answer: KubernetesObject): string | undefined {
  return (answer as { details?: { uid?: string } }).details?.uid
}
