import type { Clock } from '#base/clock.ts'
import { GrpcError, type GrpcStreamChannel, grpcCodes } from '#base/grpc.ts'
import {
  containerdCalls,
  containerdLeaseHeader,
  containerdNamespaceHeader,
  containerdWriteMethod,
  encodeWriteRequest,
  kubernetesNamespace,
  type StoredImage,
  type WriteRequest,
  writeActions,
} from '#wire/containerd-messages.ts'
import type { ArchivedBlob } from '#wire/oci/read-image-archive.ts'

const callTimeoutMs = 60_000
const leaseMs = 3_600_000

/** containerd's blobs and names of images. What is written is held by a lease until the store is closed, then by the images. */
export class ContainerdStore implements AsyncDisposable {
  readonly #channel: GrpcStreamChannel
  readonly #lease: string
  readonly #headers: Record<string, string>

  private constructor(channel: GrpcStreamChannel, lease: string) {
    this.#channel = channel
    this.#lease = lease
    this.#headers = { [containerdNamespaceHeader]: kubernetesNamespace, [containerdLeaseHeader]: lease }
  }

  static async open(channel: GrpcStreamChannel, clock: Clock): Promise<ContainerdStore> {
    const store = new ContainerdStore(channel, `typernetes-import-${clock.nowMicros()}`)
    // Should we be killed, the lease ends by itself.
    const expires = new Date(clock.now() + leaseMs).toISOString()
    await store.#call('createLease', { id: store.#lease, labels: { 'containerd.io/gc.expire': expires } })
    return store
  }

  async write(blob: ArchivedBlob, content: AsyncIterable<Uint8Array>): Promise<void> {
    const { digest, sizeBytes, children } = blob
    const labels = Object.fromEntries(children.map((child) => [`containerd.io/gc.ref.content.${child.key}`, child.digest]))
    const ref = `typernetes-${digest}`
    try {
      await this.#stream(async function* () {
        let offset = 0
        for await (const data of content) {
          yield { action: writeActions.write, ref, total: sizeBytes, expected: digest, offset, data }
          offset += data.byteLength
        }
        yield { action: writeActions.commit, ref, total: sizeBytes, expected: digest, offset, labels }
      })
    } catch (error) {
      if (!isThere(error)) throw error
      // It came with another image, which may go: what it names must not go with that.
      if (children.length > 0)
        await this.#call('updateContent', {
          info: { digest, labels },
          updateMask: { paths: Object.keys(labels).map((key) => `labels.${key}`) },
        })
    }
  }

  async setImage(image: StoredImage): Promise<void> {
    try {
      await this.#call('createImage', { image })
    } catch (error) {
      if (!isThere(error)) throw error
      await this.#call('updateImage', { image, updateMask: { paths: ['target'] } })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#call('deleteLease', { id: this.#lease, sync: false })
  }

  async #call<Name extends keyof typeof containerdCalls>(
    name: Name,
    value: Parameters<(typeof containerdCalls)[Name]['encode']>[0],
  ): Promise<void> {
    const { path, encode } = containerdCalls[name] as { path: string; encode(value: object): Uint8Array }
    await this.#channel.unary(path, encode(value), { timeoutMs: callTimeoutMs, headers: this.#headers })
  }

  /** One message after the other, each answered before the next is sent. */
  async #stream(messages: () => AsyncGenerator<WriteRequest>): Promise<void> {
    let answered = Promise.withResolvers<void>()
    const onMessage = () => answered.resolve()
    const onEnd = (error: GrpcError | undefined) => answered.reject(error ?? new Error('containerd has ended the transfer'))
    const stream = this.#channel.stream(containerdWriteMethod, { onMessage, onEnd }, this.#headers)
    try {
      for await (const message of messages()) {
        answered = Promise.withResolvers()
        stream.send(encodeWriteRequest(message))
        await answered.promise
      }
    } finally {
      // The end that follows is expected.
      answered.promise.catch(() => {})
      stream.cancel()
    }
  }
}

const isThere = (error: unknown): boolean => error instanceof GrpcError && error.code === grpcCodes.alreadyExists
