/** A driver of dynamic resources that has registered: the other end of its socket. */
import type { Clock, Timer } from '#base/clock.ts'
import { GrpcError, type GrpcStream, type GrpcStreamChannel, grpcChannel, grpcCodes } from '#base/grpc.ts'
import type { Histogram } from '#base/metrics.ts'
import {
  type DeviceHealth,
  type DraRequest,
  type DraResponse,
  type DraService,
  draMethods,
  draPath,
  healthPath,
} from '#wire/kubelet/dra-messages.ts'

const callMs = 45_000
const healthRetryMs = 5000

export type DraDriverEvents = {
  onConnection(isConnected: boolean): void
  /** How devices are; undefined when nobody tells any more. */
  onHealth(devices: DeviceHealth[] | undefined): void
}

export class DraDriver {
  readonly name: string
  readonly endpoint: string
  readonly #service: DraService
  readonly #channel: GrpcStreamChannel
  readonly #clock: Clock
  readonly #duration: Histogram
  #health: GrpcStream | undefined
  #timer: Timer | undefined
  isConnected = false
  #isStopped = false

  private constructor(parts: {
    name: string
    endpoint: string
    service: DraService
    channel: GrpcStreamChannel
    clock: Clock
    duration: Histogram
  }) {
    this.name = parts.name
    this.endpoint = parts.endpoint
    this.#service = parts.service
    this.#channel = parts.channel
    this.#clock = parts.clock
    this.#duration = parts.duration
  }

  static async open(options: {
    name: string
    endpoint: string
    service: DraService
    clock: Clock
    duration: Histogram
  }): Promise<DraDriver> {
    return new DraDriver({ ...options, channel: await grpcChannel(`unix://${options.endpoint}`) })
  }

  follow(events: DraDriverEvents): void {
    this.#channel.watchConnection?.((isConnected) => {
      if (this.#isStopped) return
      this.isConnected = isConnected
      events.onConnection(isConnected)
    })
    this.#watchHealth(events)
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#health?.cancel()
    this.#channel[Symbol.dispose]()
  }

  /** Rejects where it does not answer. */
  async call<Name extends 'prepare' | 'unprepare'>(name: Name, request: DraRequest<Name>): Promise<DraResponse<Name>> {
    const { encodeRequest, decodeResponse } = draMethods[name]
    const path = draPath(this.#service, name)
    const startedMs = this.#clock.now()
    const observe = (code: string) =>
      this.#duration.observe((this.#clock.now() - startedMs) / 1000, {
        ...{ driver_name: this.name, method_name: path, grpc_status_code: code },
      })
    try {
      const answer = await this.#channel.unary(path, encodeRequest(request), { timeoutMs: callMs })
      observe('OK')
      return decodeResponse(answer) as DraResponse<Name>
    } catch (error) {
      observe(error instanceof GrpcError ? (codeNames.get(error.code) ?? 'Unknown') : 'Unknown')
      throw error
    }
  }

  /** For as long as the driver tells; those that never do are not asked again. */
  #watchHealth(events: DraDriverEvents): void {
    const { encodeRequest, decodeResponse } = draMethods.watchHealth
    this.#health = this.#channel.stream(healthPath, {
      onMessage: (bytes) => events.onHealth(decodeResponse(bytes).devices),
      onEnd: (error) => {
        if (this.#isStopped) return
        events.onHealth(undefined)
        if (error?.code === grpcCodes.unimplemented) return
        this.#timer = this.#clock.after(healthRetryMs, () => this.#watchHealth(events))
      },
    })
    this.#health.send(encodeRequest({}))
    this.#health.end()
  }
}

const codeNames = new Map<number, string>(Object.entries(grpcCodes).map(([name, code]) => [code, name[0]?.toUpperCase() + name.slice(1)]))
