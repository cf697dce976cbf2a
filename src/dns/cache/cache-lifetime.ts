import type { CacheSettings } from '#dns/cache/cache-settings.ts'
import type { DnsResponse } from '#dns/handler.ts'
import { rcodes, recordTypeName, recordTypes } from '#wire/dns/record-type.ts'

/** Where records say nothing. */
const usualSeconds = 5

/** As what, and for how long an answer may be kept (RFC 2308). Undefined: not at all. */
export function cacheLifetime(
  response: DnsResponse,
  type: number,
  { success, denial, failureSeconds }: Pick<CacheSettings, 'success' | 'denial' | 'failureSeconds'>,
): { kind: 'success' | 'denial'; seconds: number } | undefined {
  const { rcode, isTruncated, answers, authority, additional } = response
  if (isTruncated || type === recordTypes.AXFR || type === recordTypes.IXFR) return undefined
  if (rcode === rcodes.SERVFAIL || rcode === rcodes.NOTIMP) return { kind: 'denial', seconds: failureSeconds }
  if (rcode !== rcodes.NOERROR && rcode !== rcodes.NXDOMAIN) return undefined
  const start = authority.find((record) => record.type === 'SOA')
  const name = recordTypeName(type)
  const isAnswered = answers.some((record) => record.type === name || (record.type === 'OTHER' && record.number === type))
  if (rcode === rcodes.NXDOMAIN || (!isAnswered && type !== recordTypes.ANY)) {
    // Nothing says for how long it will not be there.
    if (start?.type !== 'SOA') return undefined
    const seconds = Math.min(start.ttlSeconds, start.minimumSeconds, ...answers.map(({ ttlSeconds }) => ttlSeconds))
    return { kind: 'denial', seconds: within(seconds, denial) }
  }
  let seconds = Number.POSITIVE_INFINITY
  for (const section of [answers, authority, additional]) for (const { ttlSeconds } of section) seconds = Math.min(seconds, ttlSeconds)
  return { kind: 'success', seconds: within(Number.isFinite(seconds) ? seconds : usualSeconds, success) }
}

function within(seconds: number, { longestSeconds, shortestSeconds }: { longestSeconds: number; shortestSeconds: number }): number {
  return Math.min(Math.max(seconds, shortestSeconds), longestSeconds)
}
