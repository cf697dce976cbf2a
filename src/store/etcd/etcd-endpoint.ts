import type { Clock } from '#base/clock.ts'
import { GrpcError, type GrpcReceiver, type GrpcStream, type GrpcStreamChannel, grpcCodes } from '#base/grpc.ts'
import { etcdMethods } from '#wire/etcd-messages.ts'

export type EtcdEndpointOptions = {
  clock: Clock
  /** As users call it. */
  name: string
  channel: GrpcStreamChannel
  /** Called once, when it is found to be silent; nothing must be asked of it any more. Absent: it is waited for, there is no other. */
  onSilent?: () => void
}

const callTimeoutMs = 15_000
/** A call that takes longer makes us look whether the other side is there at all. */
const suspectMs = 1000
const lookTimeoutMs = 1500
const looks = 2

/**
 * One server of etcd. A machine that loses its power says no goodbye: its connections look well for a quarter of a minute, and every
 * call and watch on them waits. So a slow call makes us ask for something that etcd always answers at once, and where nothing comes
 * back all that was under way there fails.
 */
export class EtcdEndpoint {
  readonly #options: EtcdEndpointOptions
  readonly #calls = new Set<AbortController>()
  readonly #streams = new Set<(error: GrpcError) => void>()
  #wasConnected = false
  #isLooking = false
  #isOver = false

  constructor(options: EtcdEndpointOptions) {
    this.#options = options
    if (options.onSilent === undefined) return
    options.channel.watchConnection?.((isConnected) => {
      this.#wasConnected ||= isConnected
    })
  }

  async unary(path: string, request: Uint8Array): Promise<Uint8Array> {
    const { clock, channel, onSilent } = this.#options
    const call = new AbortController()
    this.#calls.add(call)
    using _suspicion = onSilent && clock.after(suspectMs, () => void this.#look())
    try {
      return await channel.unary(path, request, { timeoutMs: callTimeoutMs, signal: call.signal })
    } finally {
      this.#calls.delete(call)
    }
  }

  stream(path: string, receiver: GrpcReceiver, headers: Record<string, string>): GrpcStream {
    let isOver = false
    const end = (error: GrpcError | undefined) => {
      if (isOver) return
      isOver = true
      this.#streams.delete(end)
      receiver.onEnd(error)
    }
    const onMessage = (message: Uint8Array) => {
      if (!isOver) receiver.onMessage(message)
    }
    const stream = this.#options.channel.stream(path, { onMessage, onEnd: end }, headers)
    this.#streams.add(end)
    return {
      send: (message) => stream.send(message),
      end: () => stream.end(),
      cancel: () => {
        isOver = true
        this.#streams.delete(end)
        stream.cancel()
      },
    }
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    this.#options.channel[Symbol.dispose]()
  }

  /** For as long as calls wait. */
  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      while (this.#calls.size > 0 && !this.#isOver) {
        if (!(await this.#answers())) return this.#giveUp()
        await this.#options.clock.sleep(suspectMs)
      }
    } finally {
      this.#isLooking = false
    }
  }

  async #answers(): Promise<boolean> {
    const request = etcdMethods.status.encodeRequest({})
    for (let look = 0; look < looks; look++) {
      try {
        await this.#options.channel.unary(etcdMethods.status.path, request, { timeoutMs: lookTimeoutMs })
        return true
      } catch (error) {
        const { unavailable, deadlineExceeded, cancelled } = grpcCodes
        const isSilence = error instanceof GrpcError && [unavailable, deadlineExceeded, cancelled].some((code) => code === error.code)
        // It has refused, and is there.
        if (!isSilence) return true
      }
    }
    return false
  }

  #giveUp(): void {
    if (this.#isOver) return
    const { name, onSilent } = this.#options
    // The words of a call that never left, by which those are known that can be made again.
    const how = this.#wasConnected ? 'No answer' : 'No connection established'
    const error = new GrpcError(grpcCodes.unavailable, `${how}: etcd at ${name} is silent`)
    onSilent?.()
    for (const call of [...this.#calls]) call.abort(error)
    for (const end of [...this.#streams]) end(error)
    this[Symbol.dispose]()
  }
}
