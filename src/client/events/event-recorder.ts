/** Tells users what happened to an object, by events of the core API. */

import { Event } from '#api/core/v1/kinds.gen.ts'
import type { V1Event, V1ObjectReference } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { defined } from '#base/defined.ts'
import { EventCorrelator } from '#client/events/event-correlator.ts'
import { EventNames } from '#client/events/event-names.ts'
import { EventWriter, type EventWriterOptions, nobodyWaits } from '#client/events/event-writer.ts'

/** Errors that repeat what somebody sent may be as long as that; nobody reads so far. */
const longestMessage = 8 * 1024

export type EventRecorderOptions = EventWriterOptions & { component: string; host?: string }

export class EventRecorder implements AsyncDisposable {
  readonly #options: EventRecorderOptions
  readonly #correlator: EventCorrelator
  readonly #writer: EventWriter
  readonly #names: EventNames

  constructor(options: EventRecorderOptions) {
    this.#options = options
    this.#correlator = new EventCorrelator(options.clock)
    this.#writer = new EventWriter(options)
    this.#names = new EventNames(options.clock)
  }

  normal<T extends KubernetesObject>(kind: Kind<T>, object: T, reason: string, message: string): void {
    this.record(kind, object, 'Normal', reason, message)
  }

  warning<T extends KubernetesObject>(kind: Kind<T>, object: T, reason: string, message: string): void {
    this.record(kind, object, 'Warning', reason, message)
  }

  /** Returns at once; events are written one after the other, and lost rather than waited for. */
  record<T extends KubernetesObject>(kind: Kind<T>, object: T, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.recordFor(referenceTo(kind, object), type, reason, message)
  }

  recordFor(involvedObject: V1ObjectReference, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (this.#writer.isFull) return
    const correlated = this.#correlator.correlate(this.#eventOf(involvedObject, type, reason, message))
    if (correlated.action === 'drop') return
    const { action, event } = correlated
    this.#writer.write(reason, async () => {
      this.#correlator.wrote(await (action === 'patch' ? this.#patch(event) : this.#create(event)))
    })
  }

  /** Resolves when everything recorded so far is written, or lost. */
  flush(): Promise<void> {
    return this.#writer.flush()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#writer.close()
  }

  #eventOf(involvedObject: V1ObjectReference, type: string, reason: string, text: string): V1Event {
    const message = text.length > longestMessage ? `${text.slice(0, longestMessage - 4)} ...` : text
    const { clock, component, host } = this.#options
    const now = formatTime(clock.now())
    return {
      metadata: { name: this.#names.next(involvedObject.name ?? ''), namespace: involvedObject.namespace || 'default' },
      involvedObject,
      reason,
      message,
      source: { component, ...defined({ host }) },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      type,
      reportingComponent: component,
      reportingInstance: host ?? '',
    } as V1Event
  }

  #create({ metadata, ...event }: V1Event): Promise<V1Event> {
    const { resourceVersion: _version, ...rest } = metadata
    return this.#options.client.create(Event, { metadata: rest, ...event }, nobodyWaits)
  }

  async #patch(event: V1Event): Promise<V1Event> {
    const { message, count, lastTimestamp, metadata } = event
    try {
      return await this.#options.client.patch(Event, metadata, { message, count, lastTimestamp }, nobodyWaits)
    } catch (error) {
      // Events go away after an hour; what is repeated then is new.
      if (!isNotFound(error)) throw error
      return this.#create(event)
    }
  }
}

export function referenceTo<T extends KubernetesObject>(kind: Kind<T>, { metadata }: T): V1ObjectReference {
  return {
    kind: kind.kind,
    ...defined({ namespace: metadata?.namespace }),
    name: metadata?.name ?? '',
    ...defined({ uid: metadata?.uid }),
    apiVersion: apiVersionOf(kind),
    ...defined({ resourceVersion: metadata?.resourceVersion }),
  }
}
