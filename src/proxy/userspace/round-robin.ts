import type { Clock } from '#base/clock.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'

/** Datagrams may come in anybody's name. */
const mostClients = 65_536

type Client = { endpoint: string; untilMs: number }

/** Endpoints of one port in turn; where a client is to stay with its endpoint, the one it had. */
export class RoundRobin {
  readonly #clock: Clock
  #next = 0
  readonly #clients = new Map<string, Client>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** All endpoints, the one whose turn it is first: the others are there in case it does not answer. */
  order(endpoints: readonly Endpoint[], client: string, affinitySeconds: number | undefined): readonly Endpoint[] {
    if (endpoints.length === 0) return []
    const known = affinitySeconds === undefined ? undefined : this.#clients.get(client)
    const kept = known !== undefined && known.untilMs > this.#clock.now() ? endpoints.findIndex(({ text }) => text === known.endpoint) : -1
    const first = kept >= 0 ? kept : this.#next++ % endpoints.length
    return [...endpoints.slice(first), ...endpoints.slice(0, first)]
  }

  /** The client is served by that endpoint. */
  served(client: string, { text }: Endpoint, affinitySeconds: number | undefined): void {
    if (affinitySeconds === undefined) return
    // At the end: those who stayed away for longest come first.
    this.#clients.delete(client)
    this.#clients.set(client, { endpoint: text, untilMs: this.#clock.now() + affinitySeconds * 1000 })
    this.#forgetOld()
  }

  get clientCount(): number {
    return this.#clients.size
  }

  /** Those who stayed away for long, a few at a time. */
  #forgetOld(): void {
    let looked = 0
    for (const [client, { untilMs }] of this.#clients) {
      if (++looked > 4) return
      if (untilMs <= this.#clock.now() || this.#clients.size > mostClients) this.#clients.delete(client)
    }
  }
}
