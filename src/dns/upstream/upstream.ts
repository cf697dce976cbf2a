import type { Timer } from '#base/clock.ts'
import type { SocketAddress } from '#base/sockets.ts'
import type { DnsMetrics } from '#dns/dns-metrics.ts'
import { ownRequest } from '#dns/handler.ts'
import { askUpstream, type UpstreamQuestion, type UpstreamSeams } from '#dns/upstream/ask-upstream.ts'
import type { DnsMessage } from '#wire/dns/dns-message.ts'
import { recordTypes } from '#wire/dns/record-type.ts'

const healthTimeoutMs = 1000

/** Another server. After a failure it is asked on and on whether it is back. */
export class Upstream {
  readonly name: string
  readonly #address: SocketAddress
  readonly #options: { healthMs: number; forcesTcp: boolean }
  readonly #seams: UpstreamSeams & { metrics: DnsMetrics }
  #fails = 0
  #timer: Timer | undefined
  #isChecking = false
  #isStopped = false

  constructor(address: SocketAddress, options: { healthMs: number; forcesTcp: boolean }, seams: UpstreamSeams & { metrics: DnsMetrics }) {
    this.name = `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
    this.#address = address
    this.#options = options
    this.#seams = seams
  }

  isDown(maxFails: number): boolean {
    return maxFails > 0 && this.#fails > maxFails
  }

  ask(question: UpstreamQuestion, options: { protocol: 'udp' | 'tcp'; timeoutMs: number }): Promise<DnsMessage> {
    return askUpstream(this.#address, question, options, this.#seams)
  }

  /** Goes on until the server answers. */
  checkHealth(): void {
    if (this.#isChecking || this.#isStopped) return
    this.#isChecking = true
    void this.#check()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #check(): Promise<void> {
    const { clock, metrics } = this.#seams
    try {
      // Any answer is a sign of life.
      const protocol = this.#options.forcesTcp ? 'tcp' : 'udp'
      await this.ask(ownRequest('.', recordTypes.NS), { protocol, timeoutMs: healthTimeoutMs })
      this.#fails = 0
      this.#isChecking = false
    } catch {
      this.#fails++
      metrics.upstreamHealthFailures.inc({ proxy_name: 'forward', to: this.name })
      if (!this.#isStopped) this.#timer = clock.after(this.#options.healthMs, () => void this.#check())
    }
  }
}
