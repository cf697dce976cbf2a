import type { V1Lease } from '#api/coordination/v1/types.gen.ts'
import { loadBalancerSilenceMs } from '#api/core/v1/load-balancer-lease.ts'

/** Others are preferred for so long to a node that has fallen silent. */
const avoidedMs = 60_000

type Heard = { renewTime: string; sinceMs: number }

/** Which nodes that answer for load balancers are heard of. Clocks of nodes differ: what counts is when a lease was seen to change. */
export class Heartbeats {
  readonly #heard = new Map<string, Heard>()
  readonly #avoided = new Map<string, number>()
  /** Without any there is nobody to be heard of, as with simulated nodes. */
  #hasAny = false

  /** Whether the node that answers now does so no more: it has taken its lease away, or not renewed it for long. */
  isSilent(node: string, lease: V1Lease | undefined, nowMs: number): boolean {
    const renewTime = lease?.spec?.renewTime ?? ''
    if (renewTime !== '') this.#hasAny = true
    const heard = this.#heard.get(node)
    if (heard === undefined || (heard.renewTime !== renewTime && renewTime !== '')) {
      this.#heard.set(node, { renewTime, sinceMs: nowMs })
      return false
    }
    const isReleased = heard.renewTime !== '' && renewTime === ''
    const isSilent = this.#hasAny && (isReleased || nowMs - heard.sinceMs >= loadBalancerSilenceMs)
    if (isSilent) this.#avoided.set(node, nowMs + avoidedMs)
    return isSilent
  }

  isAvoided(node: string, nowMs: number): boolean {
    return nowMs < (this.#avoided.get(node) ?? 0)
  }

  /** From now on it should be heard of. */
  expect(node: string, lease: V1Lease | undefined, nowMs: number): void {
    this.#heard.set(node, { renewTime: lease?.spec?.renewTime ?? '', sinceMs: nowMs })
  }
}
