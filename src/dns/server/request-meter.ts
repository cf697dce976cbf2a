import type { DnsMetrics } from '#dns/dns-metrics.ts'
import type { DnsRequest } from '#dns/handler.ts'
import { rcodeName, recordTypeName, recordTypes } from '#wire/dns/record-type.ts'

const knownTypes: ReadonlySet<number> = new Set(Object.values(recordTypes))

/** Counts questions. Their counters are looked up once for each kind of question, not for each question. */
export class RequestMeter {
  readonly #metrics: DnsMetrics
  readonly #labels: { server: string; zone: string; view: string }
  readonly #requests = new Map<number, { inc(): void }>()
  readonly #responses = new Map<number, { inc(): void }>()
  readonly #seconds: { observe(value: number): void }
  readonly #sizes

  constructor(metrics: DnsMetrics, server: string, zone: string) {
    this.#metrics = metrics
    this.#labels = { server, zone, view: '' }
    this.#seconds = metrics.requestSeconds.with(this.#labels)
    this.#sizes = {
      udp: {
        request: metrics.requestBytes.with({ ...this.#labels, proto: 'udp' }),
        response: metrics.responseBytes.with({ ...this.#labels, proto: 'udp' }),
      },
      tcp: {
        request: metrics.requestBytes.with({ ...this.#labels, proto: 'tcp' }),
        response: metrics.responseBytes.with({ ...this.#labels, proto: 'tcp' }),
      },
    }
  }

  count(request: DnsRequest, rcode: number, sizeBytes: number, payloadBytes: number, seconds: number): void {
    const { type, protocol, from, isDnssecOk } = request
    // Anybody may make up types: those without a name are counted together.
    const known = knownTypes.has(type) ? type : 0
    const family = from.host.includes(':') ? 2 : 1
    const key = known * 4 + (protocol === 'tcp' ? 2 : 0) + family - 1
    let requests = this.#requests.get(key)
    if (requests === undefined) {
      const labels = { ...this.#labels, proto: protocol, family: String(family), type: known === 0 ? 'other' : recordTypeName(type) }
      requests = this.#metrics.requests.with(labels)
      this.#requests.set(key, requests)
    }
    requests.inc()
    let responses = this.#responses.get(rcode)
    if (responses === undefined) {
      responses = this.#metrics.responses.with({ ...this.#labels, rcode: rcodeName(rcode), plugin: '' })
      this.#responses.set(rcode, responses)
    }
    responses.inc()
    if (isDnssecOk) this.#metrics.doRequests.inc(this.#labels)
    const sizes = this.#sizes[protocol]
    sizes.request.observe(protocol === 'tcp' ? 65_535 : payloadBytes)
    sizes.response.observe(sizeBytes)
    this.#seconds.observe(seconds)
  }
}
