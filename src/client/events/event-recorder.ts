/** Tells users what happened to an object, by events of the core API. */
import { Event } from '#api/core/v1/event.ts'
import type { V1Event, V1ObjectReference } from '#api/core/v1/types.gen.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import { EventCorrelator } from '#client/events/event-correlator.ts'

export type EventRecorderOptions = { client: Client; clock: Clock; logger: Logger; component: string; host?: string }

/** More than this many events that could not be written yet are not kept. */
const backlogLimit = 1000

export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #correlator: EventCorrelator
  #count = 0
  #backlog = 0
  #last: Promise<void> = Promise.resolve()

  constructor(options: EventRecorderOptions) {
    this.#options = options
    this.#correlator = new EventCorrelator(options.clock)
  }

  normal<T extends KubernetesObject>(kind: ResourceDefinition<T>, object: T, reason: string, message: string): void {
    this.record(kind, object, 'Normal', reason, message)
  }

  warning<T extends KubernetesObject>(kind: ResourceDefinition<T>, object: T, reason: string, message: string): void {
    this.record(kind, object, 'Warning', reason, message)
  }

  /** Returns at once; events are written one after the other, and lost rather than waited for. */
  record<T extends KubernetesObject>(
    kind: ResourceDefinition<T>,
    object: T,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void {
    this.recordFor(referenceTo(kind, object), type, reason, message)
  }

  recordFor(involvedObject: V1ObjectReference, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (this.#backlog >= backlogLimit) return
    const correlated = this.#correlator.correlate(this.#eventOf(involvedObject, type, reason, message))
    if (correlated.action === 'drop') return
    const { action, event } = correlated
    this.#backlog++
    this.#last = this.#last.then(async () => {
      try {
        this.#correlator.wrote(await (action === 'patch' ? this.#patch(event) : this.#create(event)))
      } catch (error) {
        this.#options.logger.debug('an event could not be written', { reason, error: String(error) })
      } finally {
        this.#backlog--
      }
    })
  }

  /** Resolves when everything recorded so far is written, or lost. */
  flush(): Promise<void> {
    return this.#last
  }

  #eventOf(involvedObject: V1ObjectReference, type: string, reason: string, message: string): V1Event {
    const { clock, component, host } = this.#options
    const now = formatTime(clock.now())
    // Names are unique as long as the clock moves on; the count helps where it does not.
    const moment = BigInt(clock.nowMicros()) * 1000n + BigInt(this.#count++ % 1000)
    return {
      metadata: { name: `${involvedObject.name}.${moment.toString(16)}`, namespace: involvedObject.namespace || 'default' },
      involvedObject,
      reason,
      message,
      source: { component, ...(host === undefined ? {} : { host }) },
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
    return this.#options.client.create(Event, { metadata: rest, ...event })
  }

  async #patch(event: V1Event): Promise<V1Event> {
    const { message, count, lastTimestamp, metadata } = event
    try {
      return await this.#options.client.patch(Event, metadata, { message, count, lastTimestamp })
    } catch (error) {
      // Events go away after an hour; what is repeated then is new.
      if (!isNotFound(error)) throw error
      return this.#create({ ...event, count: 1, ...(lastTimestamp === undefined ? {} : { firstTimestamp: lastTimestamp }) })
    }
  }
}

export function referenceTo<T extends KubernetesObject>(kind: ResourceDefinition<T>, { metadata }: T): V1ObjectReference {
  return {
    kind: kind.kind,
    ...(metadata?.namespace === undefined ? {} : { namespace: metadata.namespace }),
    name: metadata?.name ?? '',
    ...(metadata?.uid === undefined ? {} : { uid: metadata.uid }),
    apiVersion: apiVersionOf(kind),
    ...(metadata?.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }),
  }
}
