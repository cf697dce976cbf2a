/** The embedded runtime as its own process calls it: nothing is encoded on the way. */
import { GrpcError, type GrpcStream, type GrpcStreamChannel, grpcCodes } from '#base/grpc.ts'
import { criService } from '#runtime/service/cri-service.ts'
import type { EmbeddedRuntime } from '#runtime/service/embedded-runtime.ts'
import type { ContainerEvent, CriRequest, CriResponse, CriUnaryName } from '#wire/cri/cri-messages.ts'

type CallOptions = { timeoutMs?: number; signal?: AbortSignal }

export class InProcessConnection implements Disposable {
  readonly #service: ReturnType<typeof criService>
  readonly #runtime: EmbeddedRuntime
  readonly #streams = new Set<Disposable>()

  constructor(runtime: EmbeddedRuntime) {
    this.#runtime = runtime
    this.#service = criService(runtime)
  }

  /** There is no other service beside CRI's. */
  get channel(): GrpcStreamChannel {
    return {
      unary: () => Promise.reject(new GrpcError(grpcCodes.unimplemented, 'unknown service')),
      stream: (_method, { onEnd }) => {
        onEnd(new GrpcError(grpcCodes.unimplemented, 'unknown service'))
        return { send() {}, end() {}, cancel() {} }
      },
      [Symbol.dispose]() {},
    }
  }

  /** Aborting gives up the wait. */
  call<Name extends CriUnaryName>(name: Name, request: CriRequest<Name>, { signal }: CallOptions = {}): Promise<CriResponse<Name>> {
    const handler = this.#service[name] as unknown as (request: CriRequest<Name>) => Promise<CriResponse<Name>>
    if (signal === undefined) return handler(request)
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const abort = () => reject(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      handler(request)
        .then(resolve, reject)
        .finally(() => signal.removeEventListener('abort', abort))
    })
  }

  containerEvents(onEvent: (event: ContainerEvent) => void, _onEnd: (error: GrpcError | undefined) => void): GrpcStream {
    const listening = this.#runtime.onEvent(onEvent)
    this.#streams.add(listening)
    return { send() {}, end() {}, cancel: () => listening[Symbol.dispose]() }
  }

  [Symbol.dispose](): void {
    for (const stream of this.#streams) stream[Symbol.dispose]()
  }
}
