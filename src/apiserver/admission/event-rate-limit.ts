import type { V1Event } from '#api/core/v1/types.gen.ts'
import { aggregateMessages, fieldErrorText } from '#api/meta/aggregate.ts'
import { Check } from '#api/meta/check.ts'
import { tooManyRequests } from '#api/meta/status-error.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { Clock } from '#base/clock.ts'
import { shortKey } from '#base/short-key.ts'

type LimitType = 'Server' | 'Namespace' | 'User' | 'SourceAndObject'

type Limit = { type: LimitType; qps: number; burst: number; cacheSize?: number }

const keysOf: Record<LimitType, (request: AdmissionRequest) => string> = {
  Server: () => '',
  Namespace: ({ namespace }) => namespace,
  User: ({ user }) => user.name,
  SourceAndObject({ object }) {
    const { source, involvedObject: about } = object as V1Event
    const parts = [source?.component, source?.host, about?.kind, about?.namespace, about?.name, about?.uid, about?.apiVersion]
    return parts.map((part) => part ?? '').join('')
  },
}

const defaultCacheSize = 4096

/** Events that come too thick are turned away before they fill the store. */
export function eventRateLimit({ clock, configuration }: AdmissionContext): AdmissionPlugin {
  const limits = readLimits(configuration).map((limit) => ({ type: limit.type, buckets: new TokenBuckets(limit, clock) }))
  return {
    name: 'EventRateLimit',
    operations: ['CREATE', 'UPDATE'],
    resources: ['events/*', 'events.events.k8s.io/*'],
    validate(request) {
      if (request.isDryRun) return
      const faults: string[] = []
      for (const { type, buckets } of limits) {
        const key = keysOf[type](request)
        if (!buckets.take(shortKey(key))) faults.push(`limit reached on type ${type} for key ${key}`)
      }
      if (faults.length > 0) throw tooManyRequests(aggregateMessages(faults))
    },
  }
}

type Bucket = { tokens: number; atMs: number }

/** A bucket for each key; the longest unused are forgotten, and start full again. */
class TokenBuckets {
  readonly #limit: Limit
  readonly #clock: Clock
  readonly #buckets = new Map<string, Bucket>()

  constructor(limit: Limit, clock: Clock) {
    this.#limit = limit
    this.#clock = clock
  }

  take(key: string): boolean {
    const { qps, burst, cacheSize } = this.#limit
    const atMs = this.#clock.monotonic()
    const before = this.#buckets.get(key) ?? { tokens: burst, atMs }
    this.#buckets.delete(key)
    const tokens = Math.min(burst, before.tokens + ((atMs - before.atMs) / 1000) * qps)
    const isTaken = tokens >= 1
    this.#buckets.set(key, { tokens: isTaken ? tokens - 1 : tokens, atMs })
    const [oldest] = this.#buckets.keys()
    if (this.#buckets.size > (cacheSize || defaultCacheSize) && oldest !== undefined) this.#buckets.delete(oldest)
    return isTaken
  }
}

function readLimits(configuration: unknown): Limit[] {
  const { limits = [] } = (configuration ?? {}) as { limits?: Limit[] }
  const check = new Check({ limits })
  if (limits.length === 0) check.at('limits').invalid('must not be empty', null)
  for (const [index, { type, burst, qps, cacheSize = 0 }] of limits.entries()) {
    const place = check.at('limits').at(index)
    if (keysOf[type] === undefined) place.at('type').notSupported(Object.keys(keysOf), type)
    if (!(burst > 0)) place.at('burst').invalid('must be positive', burst)
    if (!(qps > 0)) place.at('qps').invalid('must be positive', qps)
    if (type !== 'Server' && cacheSize < 0) place.at('cacheSize').invalid('must not be negative', cacheSize)
  }
  if (check.failed) throw new Error(`the configuration of EventRateLimit is wrong: ${aggregateMessages(check.errors.map(fieldErrorText))}`)
  return limits
}
