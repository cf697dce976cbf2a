import { cacheLifetime } from '#dns/cache/cache-lifetime.ts'
import type { CacheSettings } from '#dns/cache/cache-settings.ts'
import type { DnsHandler, DnsRequest, DnsResponse } from '#dns/handler.ts'
import type { PluginContext } from '#dns/plugin.ts'
import type { DnsRecord } from '#wire/dns/dns-message.ts'
import { isWithin } from '#wire/dns/dns-name.ts'
import { rcodes } from '#wire/dns/record-type.ts'

type Kept = {
  kind: 'success' | 'denial'
  response: DnsResponse
  storedMs: number
  lifetimeSeconds: number
  hits: number
  lastHitMs: number
  isRefreshing: boolean
  sizeBytes: number
}

/** Of all answers together: whoever has a domain of his own decides how large its answers are. */
const mostBytes = 32 << 20
/** What objects take beside the texts in them. */
const responseBytes = 400
const recordBytes = 200

type CacheContext = Pick<PluginContext, 'clock' | 'metrics' | 'server' | 'zones' | 'logger'>

/** Answers by question, oldest first: a Map keeps the order in which they came. */
export class AnswerCache {
  readonly #settings: CacheSettings
  readonly #next: DnsHandler
  readonly #context: CacheContext
  readonly #kept = { success: new Map<string, Kept>(), denial: new Map<string, Kept>() }
  #bytes = 0
  readonly #labels: { server: string; zones: string; view: string }

  constructor(settings: CacheSettings, next: DnsHandler, context: CacheContext) {
    this.#settings = settings
    this.#next = next
    this.#context = context
    this.#labels = { server: context.server, zones: context.zones.join(','), view: '' }
  }

  ask(request: DnsRequest): DnsResponse | Promise<DnsResponse> {
    const { metrics, clock } = this.#context
    metrics.cacheRequests.inc(this.#labels)
    const key = keyOf(request)
    const kept = this.#kept.denial.get(key) ?? this.#kept.success.get(key)
    const nowMs = clock.monotonic()
    const left = kept === undefined ? 0 : secondsLeft(kept, nowMs)
    if (kept === undefined || left <= -this.#settings.staleMs / 1000) {
      metrics.cacheMisses.inc(this.#labels)
      return this.#fetch(key, request)
    }
    this.#countHit(kept, nowMs)
    if (left > 0) {
      if (this.#isWorthPrefetching(kept, left)) this.#prefetch(key, kept, request)
      return aged(kept, this.#settings.keepsTtl ? kept.lifetimeSeconds : left, request)
    }
    if (this.#settings.verifiesStale) return this.#verified(key, kept, request)
    metrics.cacheStale.inc(this.#labels)
    this.#prefetch(key, kept, request)
    return aged(kept, 0, request)
  }

  #countHit(kept: Kept, nowMs: number): void {
    this.#context.metrics.cacheHits.inc({ ...this.#labels, type: kept.kind })
    const gapMs = this.#settings.prefetch?.gapMs ?? 0
    kept.hits = nowMs - kept.lastHitMs > gapMs ? 1 : kept.hits + 1
    kept.lastHitMs = nowMs
  }

  #isWorthPrefetching(kept: Kept, left: number): boolean {
    const { prefetch } = this.#settings
    if (prefetch === undefined || prefetch.amount === 0 || kept.hits < prefetch.amount) return false
    return left <= Math.max(1, prefetch.share * kept.lifetimeSeconds)
  }

  #prefetch(key: string, kept: Kept, request: DnsRequest): void {
    if (kept.isRefreshing) return
    kept.isRefreshing = true
    this.#context.metrics.cachePrefetches.inc(this.#labels)
    Promise.resolve(this.#fetch(key, request, kept)).then(
      () => {
        kept.isRefreshing = false
      },
      () => {
        kept.isRefreshing = false
      },
    )
  }

  async #verified(key: string, kept: Kept, request: DnsRequest): Promise<DnsResponse> {
    try {
      const response = await this.#fetch(key, request, kept)
      if (!isFailure(response)) return response
    } catch {
      // What is known is better than nothing.
    }
    this.#context.metrics.cacheStale.inc(this.#labels)
    return aged(kept, 0, request)
  }

  #fetch(key: string, request: DnsRequest, replaced?: Kept): DnsResponse | Promise<DnsResponse> {
    const response = this.#next(request)
    return response instanceof Promise
      ? response.then((each) => this.#keep(key, request, each, replaced))
      : this.#keep(key, request, response, replaced)
  }

  /** What is given out is what is kept, with the lifetime it is kept for. */
  #keep(key: string, request: DnsRequest, response: DnsResponse, replaced?: Kept): DnsResponse {
    const { metrics, clock } = this.#context
    // A failure does not take the place of what is known.
    if (replaced !== undefined && isFailure(response)) return response
    const found = cacheLifetime(response, request.type, this.#settings)
    if (found === undefined || found.seconds <= 0) return response
    const { kind, seconds } = found
    const { capacity, except } = this.#settings[kind]
    if (except.some((zone) => isWithin(request.name, zone))) return response
    const nowMs = clock.monotonic()
    const kept: Kept = {
      ...{ kind, response, storedMs: nowMs, lifetimeSeconds: seconds, isRefreshing: false },
      ...{ hits: replaced?.hits ?? 0, lastHitMs: replaced?.lastHitMs ?? nowMs, sizeBytes: sizeOf(key, response) },
    }
    this.#forget('success', key)
    this.#forget('denial', key)
    if (this.#kept[kind].size >= capacity) this.#evictOldest(kind)
    this.#kept[kind].set(key, kept)
    this.#bytes += kept.sizeBytes
    while (this.#bytes > mostBytes) this.#evictOldest(this.#kept[kind].size > 1 ? kind : otherKind[kind])
    for (const each of ['success', 'denial'] as const) metrics.cacheEntries.set(this.#kept[each].size, { ...this.#labels, type: each })
    return {
      ...response,
      answers: shortened(response.answers, seconds),
      authority: shortened(response.authority, seconds),
      additional: shortened(response.additional, seconds),
    }
  }

  #evictOldest(kind: Kept['kind']): void {
    const [oldest] = this.#kept[kind].keys()
    if (oldest !== undefined) this.#forget(kind, oldest)
    this.#context.metrics.cacheEvictions.inc({ ...this.#labels, type: kind })
  }

  #forget(kind: Kept['kind'], key: string): void {
    this.#bytes -= this.#kept[kind].get(key)?.sizeBytes ?? 0
    this.#kept[kind].delete(key)
  }
}

const otherKind = { success: 'denial', denial: 'success' } as const

/** About. */
function sizeOf(key: string, { answers, authority, additional }: DnsResponse): number {
  let size = responseBytes + 2 * key.length
  for (const records of [answers, authority, additional]) for (const record of records) size += recordBytes + textBytes(record)
  return size
}

function textBytes(record: DnsRecord): number {
  if (record.type === 'TXT') return record.name.length + record.texts.reduce((sum, text) => sum + text.length, 0)
  if (record.type === 'OTHER') return record.name.length + record.data.length
  return record.name.length + ('target' in record ? record.target.length : 0)
}

const isFailure = ({ rcode }: DnsResponse): boolean => rcode !== rcodes.NOERROR && rcode !== rcodes.NXDOMAIN

function keyOf({ name, type, class: questionClass, isDnssecOk, isCheckingDisabled }: DnsRequest): string {
  return `${name} ${type} ${questionClass} ${isDnssecOk ? 1 : 0}${isCheckingDisabled ? 1 : 0}`
}

const secondsLeft = ({ storedMs, lifetimeSeconds }: Kept, nowMs: number): number => lifetimeSeconds - Math.floor((nowMs - storedMs) / 1000)

/** Clients of old drop answers without the authoritative bit: it is set, as CoreDNS does. */
function aged({ response }: Kept, seconds: number, { isDnssecOk, isAuthenticated }: DnsRequest): DnsResponse {
  const withTtl = (records: readonly DnsRecord[]) => records.map((record) => ({ ...record, ttlSeconds: seconds }))
  return {
    ...response,
    isAuthoritative: true,
    isAuthenticated: response.isAuthenticated && (isDnssecOk || isAuthenticated),
    ...{ answers: withTtl(response.answers), authority: withTtl(response.authority), additional: withTtl(response.additional) },
  }
}

function shortened(records: readonly DnsRecord[], seconds: number): readonly DnsRecord[] {
  return records.some(({ ttlSeconds }) => ttlSeconds !== seconds) ? records.map((record) => ({ ...record, ttlSeconds: seconds })) : records
}
