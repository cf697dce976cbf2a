/** A device plugin that has registered: the other end of its socket. */
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { type GrpcStream, type GrpcStreamChannel, grpcChannel } from '#base/grpc.ts'
import {
  type ContainerAllocation,
  type DevicePluginMethod,
  devicePluginMethods,
  type PluginDevice,
  type PluginOptions,
  type PluginRequest,
  type PluginResponse,
} from '#wire/kubelet/device-plugin-messages.ts'

const connectMs = 10_000
/** Plugins may prepare hardware for long: upstream sets no limit, but nothing shall wait for ever. */
const allocateMs = 600_000
const preStartMs = 30_000

export type DevicePluginEvents = { onDevices(devices: PluginDevice[]): void; onGone(): void }

export class DevicePlugin {
  readonly options: PluginOptions
  readonly #channel: GrpcStreamChannel
  readonly #resource: string
  readonly #clock: Clock
  #watch: GrpcStream | undefined
  /** When it went away. */
  stoppedMs: number | undefined

  private constructor(resource: string, channel: GrpcStreamChannel, options: PluginOptions, clock: Clock) {
    this.#resource = resource
    this.#channel = channel
    this.options = options
    this.#clock = clock
  }

  /** Rejects where nobody answers at the socket. */
  static async connect(resource: string, socket: string, clock: Clock): Promise<DevicePlugin> {
    const channel = await grpcChannel(`unix://${socket}`)
    try {
      const options = await ask(channel, 'getDevicePluginOptions', {}, connectMs)
      return new DevicePlugin(resource, channel, options, clock)
    } catch (error) {
      channel[Symbol.dispose]()
      throw new Error(`failed to get device plugin options: ${errorMessage(error)}`)
    }
  }

  /** Hears of its devices until it is gone. */
  watch({ onDevices, onGone }: DevicePluginEvents): void {
    const { path, encodeRequest, decodeResponse } = devicePluginMethods.listAndWatch
    this.#watch = this.#channel.stream(path, {
      onMessage: (bytes) => onDevices(decodeResponse(bytes).devices),
      onEnd: () => {
        this.stop()
        onGone()
      },
    })
    this.#watch.send(encodeRequest({}))
    this.#watch.end()
  }

  stop(): void {
    if (this.stoppedMs !== undefined) return
    this.stoppedMs = this.#clock.now()
    this.#watch?.cancel()
    this.#channel[Symbol.dispose]()
  }

  async preferred(available: string[], mustInclude: string[], size: number): Promise<Set<string>> {
    this.#mustRun()
    const request = { availableDeviceIds: available, mustIncludeDeviceIds: mustInclude, allocationSize: size }
    const answer = await ask(this.#channel, 'getPreferredAllocation', { containerRequests: [request] }, allocateMs)
    return new Set(answer.containerResponses[0]?.deviceIds)
  }

  async allocate(deviceIds: string[]): Promise<ContainerAllocation> {
    this.#mustRun()
    const answer = await ask(this.#channel, 'allocate', { containerRequests: [{ deviceIds }] }, allocateMs)
    const [first] = answer.containerResponses
    if (first === undefined) throw new Error('no containers return in allocation response')
    return first
  }

  async preStart(deviceIds: string[]): Promise<void> {
    this.#mustRun()
    await ask(this.#channel, 'preStartContainer', { deviceIds }, preStartMs)
  }

  #mustRun(): void {
    if (this.stoppedMs !== undefined) throw new Error(`endpoint ${this.#resource} has been stopped`)
  }
}

async function ask<Name extends DevicePluginMethod>(
  channel: GrpcStreamChannel,
  name: Name,
  request: PluginRequest<Name>,
  timeoutMs: number,
): Promise<PluginResponse<Name>> {
  const { path, encodeRequest, decodeResponse } = devicePluginMethods[name]
  return decodeResponse(await channel.unary(path, encodeRequest(request), { timeoutMs }))
}
