/** Tells users what happened to an object, by events of events.k8s.io: what is repeated becomes a series of one event. */

import type { V1ObjectReference } from '#api/core/v1/types.gen.ts'
import { Event } from '#api/events/v1/kinds.gen.ts'
import type { V1Event } from '#api/events/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { ignoreAlreadyExists, isNotFound } from '#api/meta/server-response.ts'
import { formatMicroTime } from '#api/meta/time.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { EventNames } from '#client/events/event-names.ts'
import { referenceTo } from '#client/events/event-recorder.ts'
import { EventWriter, type EventWriterOptions, nobodyWaits } from '#client/events/event-writer.ts'

export type EventSeriesRecorderOptions = EventWriterOptions & {
  /** Who reports: `kube-scheduler`, `example.com/my-controller`. */
  controller: string
  /** Which of several: the controller and the host by custom. */
  instance: string
}

export type SeriesEvent = {
  type: 'Normal' | 'Warning'
  reason: string
  /** What was done or tried: `Binding`. */
  action: string
  note: string
}

/** A series that was not added to for this long is over, and its end is told. */
const finishMs = 6 * 60_000
/** Series that go on are told again, so that the server does not forget them. */
const refreshMs = 30 * 60_000
const noteMax = 1024

export class EventSeriesRecorder implements AsyncDisposable {
  readonly #options: EventSeriesRecorderOptions
  readonly #writer: EventWriter
  readonly #names: EventNames
  readonly #known = new Map<string, { event: V1Event; lastMs: number }>()
  #timers: Timer[] = []

  constructor(options: EventSeriesRecorderOptions) {
    this.#options = options
    this.#writer = new EventWriter(options)
    this.#names = new EventNames(options.clock)
  }

  /** Returns at once; events are lost rather than waited for. `related` is another object that has to do with it. */
  record<T extends KubernetesObject>(
    kind: Kind<T>,
    object: T,
    event: SeriesEvent,
    related?: { kind: Kind; object: KubernetesObject },
  ): void {
    this.recordFor(referenceTo(kind, object), event, related && referenceTo(related.kind, related.object as never))
  }

  recordFor(regarding: V1ObjectReference, { type, reason, action, note }: SeriesEvent, related?: V1ObjectReference): void {
    const { clock, controller, instance } = this.#options
    const key = [identity(regarding), related && identity(related), type, reason, action].join('\u0001')
    const known = this.#known.get(key)
    if (known !== undefined) {
      this.#repeat(known)
      return
    }
    const event: V1Event = {
      metadata: { name: this.#names.next(regarding.name ?? ''), namespace: regarding.namespace || 'default' },
      eventTime: formatMicroTime(clock.nowMicros()),
      reportingController: controller,
      reportingInstance: instance,
      action,
      reason,
      regarding,
      ...defined({ related }),
      note: note.length > noteMax ? `${note.slice(0, noteMax - 4)} ...` : note,
      type,
    }
    this.#known.set(key, { event, lastMs: clock.now() })
    if (this.#timers.length === 0)
      this.#timers = [clock.every(finishMs, () => this.#finish()), clock.every(refreshMs, () => this.#refresh())]
    this.#writer.write(reason, () => this.#options.client.create(Event, event, nobodyWaits))
  }

  /** Resolves when everything recorded so far is written, or lost. */
  flush(): Promise<void> {
    return this.#writer.flush()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers.splice(0)) timer.cancel()
    this.#known.clear()
    await this.#writer.close()
  }

  #repeat(known: { event: V1Event; lastMs: number }): void {
    const { clock } = this.#options
    const count = (known.event.series?.count ?? 1) + 1
    known.lastMs = clock.now()
    known.event = { ...known.event, series: { count, lastObservedTime: formatMicroTime(clock.nowMicros()) } }
    // The first repetition makes it a series; telling of each after it would only be load.
    if (count === 2) this.#tell(known.event)
  }

  #tell(event: V1Event): void {
    const { client } = this.#options
    this.#writer.write(event.reason ?? '', async () => {
      try {
        await client.patch(Event, event.metadata, { series: event.series }, nobodyWaits)
      } catch (error) {
        if (!isNotFound(error)) throw error
        await client.create(Event, event, nobodyWaits).catch(ignoreAlreadyExists)
      }
    })
  }

  #finish(): void {
    const overMs = this.#options.clock.now() - finishMs
    for (const [key, { event, lastMs }] of this.#known) {
      if (lastMs > overMs) continue
      if (event.series !== undefined) this.#tell(event)
      this.#known.delete(key)
    }
    if (this.#known.size === 0) for (const timer of this.#timers.splice(0)) timer.cancel()
  }

  #refresh(): void {
    for (const { event } of this.#known.values()) if (event.series !== undefined) this.#tell(event)
  }
}

const identity = ({ kind, apiVersion, namespace, name, uid, fieldPath }: V1ObjectReference): string =>
  [kind, apiVersion, namespace, name, uid, fieldPath].join('\u0000')
