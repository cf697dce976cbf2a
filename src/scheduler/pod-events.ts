/** Tells users what became of a pod, by events of events.k8s.io; the same again becomes a series. */

import type { V1ObjectReference, V1Pod } from '#api/core/v1/types.gen.ts'
import { Event } from '#api/events/v1/kinds.gen.ts'
import type { V1Event } from '#api/events/v1/types.gen.ts'
import { formatMicroTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Client } from '#client/client.ts'
import type { PodEvent } from '#scheduler/framework/plugin-handle.ts'
import { inTurns } from '#scheduler/in-turns.ts'

/** A series that was not added to for this long is over. */
const seriesEndsMs = 6 * 60_000
const knownMax = 4096
const writesAtOnce = 20
/** More than this many at once are dropped rather than kept in memory. */
const backlogMax = 10_000

type Known = { readonly event: V1Event; count: number; lastMs: number; writtenMs: number; isWriting: boolean }

export class PodEvents {
  readonly #options: { client: Client; clock: Clock; logger: Logger; instance: string }
  readonly #known = new Map<string, Known>()
  readonly #turn = inTurns(writesAtOnce)
  #sequence = 0
  #backlog = 0

  constructor(options: { client: Client; clock: Clock; logger: Logger; instance: string }) {
    this.#options = options
  }

  record(event: PodEvent): void {
    const nowMs = this.#options.clock.now()
    const key = keyOf(event)
    const known = this.#known.get(key)
    if (known === undefined || nowMs - known.lastMs > seriesEndsMs) this.#begin(key, event, nowMs)
    else this.#repeat(known, nowMs)
  }

  #begin(key: string, podEvent: PodEvent, nowMs: number): void {
    if (this.#backlog >= backlogMax) return
    const { client, clock } = this.#options
    const micros = clock.nowMicros()
    const { regarding, related, reportingController, ...rest } = podEvent
    const suffix = (BigInt(micros) * 1000n + BigInt(this.#sequence++ % 1000)).toString(16)
    const event: V1Event = {
      metadata: { name: `${regarding.metadata.name}.${suffix}`, namespace: regarding.metadata.namespace || 'default' },
      eventTime: formatMicroTime(micros),
      reportingController,
      reportingInstance: `${reportingController}-${this.#options.instance}`,
      regarding: referenceTo(regarding),
      ...defined({ related: related && referenceTo(related) }),
      ...rest,
    }
    const known: Known = { event, count: 1, lastMs: nowMs, writtenMs: nowMs, isWriting: true }
    // Pods are placed once: only what failed can come again.
    if (podEvent.type === 'Warning') this.#remember(key, known)
    this.#write(known, () => client.create(Event, event, { onlyReadsAnswer: true }))
  }

  #repeat(known: Known, nowMs: number): void {
    known.count++
    known.lastMs = nowMs
    // The first repetition makes it a series; after that telling of each would only be load.
    if (known.isWriting || (known.count > 2 && nowMs - known.writtenMs < seriesEndsMs)) return
    known.writtenMs = nowMs
    known.isWriting = true
    const { client, clock } = this.#options
    const series = { count: known.count, lastObservedTime: formatMicroTime(clock.nowMicros()) }
    this.#write(known, () => client.patch(Event, known.event.metadata, { series }))
  }

  #write(known: Known, write: () => Promise<unknown>): void {
    this.#backlog++
    this.#turn(write)
      .catch((error: unknown) => this.#options.logger.debug('failed to write event', { reason: known.event.reason, error: String(error) }))
      .finally(() => {
        known.isWriting = false
        this.#backlog--
      })
  }

  #remember(key: string, known: Known): void {
    this.#known.delete(key)
    this.#known.set(key, known)
    if (this.#known.size <= knownMax) return
    const [oldest] = this.#known.keys()
    if (oldest !== undefined) this.#known.delete(oldest)
  }
}

const keyOf = ({ regarding, related, type, reason, action, reportingController }: PodEvent): string =>
  [regarding.metadata.uid, related?.metadata.uid, type, reason, action, reportingController].join('\u0000')

function referenceTo({ metadata }: V1Pod): V1ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    ...omitEmpty({ namespace, name, uid, resourceVersion }),
  }
}
