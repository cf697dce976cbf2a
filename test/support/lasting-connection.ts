import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import type { CriProvider } from '#runtime/service/cri-provider.ts'
import { InProcessConnection } from '#runtime/service/in-process-connection.ts'

/** To whichever runtime is there. */
export class LastingConnection implements CriConnection {
  readonly #current: () => CriProvider | undefined
  readonly #streams = new Set<(error: GrpcError) => void>()

  constructor(current: () => CriProvider | undefined) {
    this.#current = current
  }

  get channel() {
    return this.#connection().channel
  }

  call: CriConnection['call'] = async (...call) => this.#connection().call(...call)

  containerEvents: CriConnection['containerEvents'] = (onEvent, onEnd) => {
    if (this.#current() === undefined) {
      queueMicrotask(() => onEnd(away))
      return { send() {}, end() {}, cancel() {} }
    }
    this.#streams.add(onEnd)
    return this.#connection().containerEvents(onEvent, onEnd)
  }

  cut(): void {
    for (const onEnd of this.#streams) onEnd(away)
    this.#streams.clear()
  }

  [Symbol.dispose](): void {}

  #connection(): InProcessConnection {
    const provider = this.#current()
    if (provider === undefined) throw new GrpcError(grpcCodes.unavailable, 'the runtime is away')
    return new InProcessConnection(provider)
  }
}

const away = new GrpcError(grpcCodes.unavailable, 'the runtime is away')
