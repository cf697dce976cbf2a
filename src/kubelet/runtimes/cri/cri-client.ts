import { defined } from '#base/defined.ts'
import { type GrpcError, type GrpcReceiver, type GrpcStream, type GrpcStreamChannel, grpcChannel } from '#base/grpc.ts'
import { type CriRequest, type CriResponse, type CriUnaryName, criMethods } from '#wire/cri/cri-messages.ts'
import type { GrpcMethod } from '#wire/grpc-method.ts'

export type CallOptions = { timeoutMs?: number; signal?: AbortSignal }

/** A runtime that is spoken to in the words of CRI: behind a socket, or in this process. */
export type CriConnection = Pick<CriClient, 'call' | 'channel' | 'containerEvents'> & Disposable

const imageService = '/runtime.v1.ImageService/'
const usualTimeoutMs = 2 * 60_000

/** Calls to a container runtime behind a CRI socket. Each connects when needed, and again when the runtime was away. */
export class CriClient implements Disposable {
  readonly #channel: GrpcStreamChannel
  /** The same, where one program does both. */
  readonly #images: GrpcStreamChannel

  private constructor(channel: GrpcStreamChannel, images: GrpcStreamChannel) {
    this.#channel = channel
    this.#images = images
  }

  /** `/run/containerd/containerd.sock`, with or without `unix://`. Images are `imageSocket`'s where one is given. */
  static async connect(socket: string, imageSocket = ''): Promise<CriClient> {
    const open = (path: string) => grpcChannel(`unix://${path.replace(/^unix:\/\//, '')}`)
    const channel = await open(socket)
    return new CriClient(channel, imageSocket === '' || imageSocket === socket ? channel : await open(imageSocket))
  }

  /** For services beside CRI that the runtime offers at the same socket. */
  get channel(): GrpcStreamChannel {
    return this.#channel
  }

  async call<Name extends CriUnaryName>(name: Name, request: CriRequest<Name>, options: CallOptions = {}): Promise<CriResponse<Name>> {
    const method = criMethods[name] as GrpcMethod<CriRequest<Name>, CriResponse<Name>>
    const { timeoutMs = usualTimeoutMs, signal } = options
    const channel = method.path.startsWith(imageService) ? this.#images : this.#channel
    const answer = await channel.unary(method.path, method.encodeRequest(request), { timeoutMs, ...defined({ signal }) })
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
    if (this.#images !== this.#channel) this.#images[Symbol.dispose]()
  }
}
