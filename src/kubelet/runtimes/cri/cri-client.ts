import { defined } from '#base/defined.ts'
import { type GrpcError, type GrpcReceiver, type GrpcStream, type GrpcStreamChannel, grpcChannel } from '#base/grpc.ts'
import { type CriMethod, type CriRequest, type CriResponse, type CriUnaryName, criMethods } from '#wire/cri/cri-messages.ts'

export type CallOptions = { timeoutMs?: number; signal?: AbortSignal }

/** A runtime that is spoken to in the words of CRI: behind a socket, or in this process. */
export type CriConnection = Pick<CriClient, 'call' | 'channel' | 'containerEvents'> & Disposable

const usualTimeoutMs = 2 * 60_000

/** Calls to a container runtime behind a CRI socket. Each connects when needed, and again when the runtime was away. */
export class CriClient implements Disposable {
  readonly #channel: GrpcStreamChannel

  private constructor(channel: GrpcStreamChannel) {
    this.#channel = channel
  }

  /** `/run/containerd/containerd.sock`, with or without `unix://`. */
  static async connect(socket: string): Promise<CriClient> {
    return new CriClient(await grpcChannel(`unix://${socket.replace(/^unix:\/\//, '')}`))
  }

  /** For services beside CRI that the runtime offers at the same socket. */
  get channel(): GrpcStreamChannel {
    return this.#channel
  }

  async call<Name extends CriUnaryName>(name: Name, request: CriRequest<Name>, options: CallOptions = {}): Promise<CriResponse<Name>> {
    const method = criMethods[name] as CriMethod<CriRequest<Name>, CriResponse<Name>>
    const { timeoutMs = usualTimeoutMs, signal } = options
    const answer = await this.#channel.unary(method.path, method.encodeRequest(request), { timeoutMs, ...defined({ signal }) })
    return method.decodeResponse(answer)
  }

  containerEvents(onEvent: (event: CriResponse<'getContainerEvents'>) => void, onEnd: (error: GrpcError | undefined) => void): GrpcStream {
    const { path, encodeRequest, decodeResponse } = criMethods.getContainerEvents
    const receiver: GrpcReceiver = { onMessage: (bytes) => onEvent(decodeResponse(bytes)), onEnd }
    const stream = this.#channel.stream(path, receiver)
    stream.send(encodeRequest({}))
    stream.end()
    return stream
  }

  [Symbol.dispose](): void {
    this.#channel[Symbol.dispose]()
  }
}
