/** Keeps the number of events small: repeats are counted, similar ones are gathered, and chatterers are silenced. */
import type { V1Event } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { shortKey } from '#base/short-key.ts'
import { RecentKeys } from '#client/recent-keys.ts'
import { TokenBucket } from '#client/work-queue/rate-limiter.ts'

const rememberedKeys = 4096
const similarLimit = 10
const similarWindowMs = 600_000
const spamBurst = 25
const spamPerSecond = 1 / 300

/** What is to be done with an event: nothing, write it as new, or write it over the one it repeats. */
export type Correlated = { action: 'drop' } | { action: 'create' | 'patch'; event: V1Event }

type Remembered = { name: string; count: number; firstTimestamp: string; resourceVersion: string }

export class EventCorrelator {
  readonly #clock: Clock
  readonly #similar = new RecentKeys<{ messages: Set<string>; lastMs: number }>(rememberedKeys)
  readonly #written = new RecentKeys<Remembered>(rememberedKeys)
  readonly #buckets = new RecentKeys<TokenBucket>(rememberedKeys)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  correlate(event: V1Event): Correlated {
    const { event: gathered, key } = this.#gather(event)
    const known = this.#written.get(key)
    const counted: V1Event =
      known === undefined
        ? gathered
        : {
            ...gathered,
            metadata: { ...gathered.metadata, name: known.name, resourceVersion: known.resourceVersion },
            count: known.count + 1,
            firstTimestamp: known.firstTimestamp,
          }
    this.#remember(key, counted)
    if (!this.#mayWrite(event)) return { action: 'drop' }
    return { action: known === undefined ? 'create' : 'patch', event: counted }
  }

  /** What the server made of the event. */
  wrote(event: V1Event): void {
    this.#remember(this.#similarNow(event) ? similarKey(event) : exactKey(event), event)
  }

  #gather(event: V1Event): { event: V1Event; key: string } {
    const key = similarKey(event)
    const nowMs = this.#clock.now()
    let entry = this.#similar.get(key)
    if (entry === undefined || nowMs - entry.lastMs > similarWindowMs) entry = { messages: new Set(), lastMs: nowMs }
    entry.messages.add(shortKey(event.message ?? ''))
    entry.lastMs = nowMs
    this.#similar.set(key, entry)
    if (entry.messages.size < similarLimit) return { event, key: exactKey(event) }
    entry.messages.delete(entry.messages.values().next().value ?? '')
    return { event: { ...event, message: `(combined from similar events): ${event.message ?? ''}` }, key }
  }

  #similarNow(event: V1Event): boolean {
    return event.message?.startsWith('(combined from similar events): ') ?? false
  }

  #remember(key: string, { metadata, count = 1, firstTimestamp }: V1Event): void {
    this.#written.set(key, {
      name: metadata.name ?? '',
      count,
      firstTimestamp: firstTimestamp ?? '',
      resourceVersion: metadata.resourceVersion ?? '',
    })
  }

  #mayWrite(event: V1Event): boolean {
    const key = chattererKey(event)
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      bucket = new TokenBucket(this.#clock, { perSecond: spamPerSecond, burst: spamBurst })
      this.#buckets.set(key, bucket)
    }
    return bucket.tryTake()
  }
}

function sourceAndObject({ source, involvedObject }: V1Event): string[] {
  const { kind = '', namespace = '', name = '', uid = '', apiVersion = '' } = involvedObject
  return [source?.component ?? '', source?.host ?? '', kind, namespace, name, uid, apiVersion]
}

function chattererKey(event: V1Event): string {
  return [...sourceAndObject(event), event.type].join('\u0000')
}

function similarKey(event: V1Event): string {
  return [...sourceAndObject(event), event.type, event.reason, event.reportingComponent, event.reportingInstance].join('\u0000')
}

function exactKey(event: V1Event): string {
  return [...sourceAndObject(event), event.involvedObject.fieldPath, event.type, event.reason, shortKey(event.message ?? '')].join('\u0000')
}
