/** A runtime as its own process calls it: nothing is encoded on the way. */
import { GrpcError, type GrpcStream, type GrpcStreamChannel, grpcCodes } from '#base/grpc.ts'
import type { CriProvider } from '#runtime/service/cri-provider.ts'
import { tellImport } from '#runtime/service/tell-import.ts'
import type { ContainerEvent, CriRequest, CriResponse, CriUnaryName } from '#wire/cri/cri-messages.ts'
import { importMethod } from '#wire/cri/import-images.ts'

type CallOptions = { timeoutMs?: number; signal?: AbortSignal }

export class InProcessConnection implements Disposable {
  readonly #provider: CriProvider
  readonly #streams = new Set<Disposable>()

  constructor(provider: CriProvider) {
    this.#provider = provider
  }

  /** There is no other service beside CRI's, but for the import of images. */
  get channel(): GrpcStreamChannel {
    return {
      unary: async () => {
        throw new GrpcError(grpcCodes.unimplemented, 'unknown service')
      },
      stream: (method, { onMessage, onEnd }) => {
        const send = (request: Uint8Array) =>
          void tellImport(this.#provider, request, { send: onMessage, end: () => onEnd(undefined), fail: onEnd })
        if (method === importMethod.path) return { send, end() {}, cancel() {} }
        onEnd(new GrpcError(grpcCodes.unimplemented, 'unknown service'))
        return { send() {}, end() {}, cancel() {} }
      },
      [Symbol.dispose]() {},
    }
  }

  /** Aborting gives up the wait. */
  call<Name extends CriUnaryName>(name: Name, request: CriRequest<Name>, { signal }: CallOptions = {}): Promise<CriResponse<Name>> {
    const handler = this.#provider.service[name] as unknown as (request: CriRequest<Name>) => Promise<CriResponse<Name>>
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

  containerEvents(onEvent: (event: ContainerEvent) => void, onEnd: (error: GrpcError | undefined) => void): GrpcStream {
    const listening = this.#provider.onEvent(onEvent, onEnd)
    this.#streams.add(listening)
    return { send() {}, end() {}, cancel: () => listening[Symbol.dispose]() }
  }

  [Symbol.dispose](): void {
    for (const stream of this.#streams) stream[Symbol.dispose]()
  }
}
