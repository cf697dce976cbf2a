/** A device plugin behind a socket, as its author would write it. */
import { join } from 'node:path'
import { GrpcError, type GrpcPeer, type GrpcServer, grpcChannel, grpcCodes, startGrpcServer } from '#base/grpc.ts'
import {
  type ContainerAllocation,
  devicePluginMethods,
  type PluginDevice,
  type PluginOptions,
} from '#wire/kubelet/device-plugin-messages.ts'

export type TestDevicePluginOptions = {
  /** The kubelet's `device-plugins`. */
  directory: string
  resource: string
  devices: PluginDevice[]
  options?: Partial<PluginOptions>
  allocation?(ids: string[]): Partial<ContainerAllocation>
}

export class TestDevicePlugin implements AsyncDisposable {
  /** What was asked, in order: `Allocate a,b`. */
  readonly calls: string[] = []
  /** What it prefers. */
  prefers: string[] = []
  failsWith: string | undefined
  readonly #options: TestDevicePluginOptions
  readonly #server: GrpcServer
  readonly #watchers = new Set<GrpcPeer>()
  #devices: PluginDevice[]

  private constructor(options: TestDevicePluginOptions, server: (plugin: TestDevicePlugin) => GrpcServer) {
    this.#options = options
    this.#devices = options.devices
    this.#server = server(this)
  }

  static async start(options: TestDevicePluginOptions): Promise<TestDevicePlugin> {
    const { directory, resource, allocation = () => ({}) } = options
    const holder: { plugin?: TestDevicePlugin } = {}
    const self = () => holder.plugin as TestDevicePlugin
    const { listAndWatch, getDevicePluginOptions, getPreferredAllocation, allocate, preStartContainer } = devicePluginMethods
    const server = await startGrpcServer({
      address: `unix:${join(directory, socketOf(resource))}`,
      handlers: {
        [getDevicePluginOptions.path]: {
          answer: async () =>
            getDevicePluginOptions.encodeResponse({
              ...{ preStartRequired: false, getPreferredAllocationAvailable: false, ...options.options },
            }),
        },
        [listAndWatch.path]: {
          converse(peer) {
            self().#watchers.add(peer)
            peer.onClosed(() => self().#watchers.delete(peer))
            void peer.send(listAndWatch.encodeResponse({ devices: self().#devices }))
          },
        },
        [getPreferredAllocation.path]: {
          async answer(bytes) {
            const [request] = getPreferredAllocation.decodeRequest(bytes).containerRequests
            self().calls.push(`GetPreferredAllocation ${request?.availableDeviceIds.toSorted().join()}`)
            return getPreferredAllocation.encodeResponse({ containerResponses: [{ deviceIds: self().prefers }] })
          },
        },
        [allocate.path]: {
          async answer(bytes) {
            const ids = allocate.decodeRequest(bytes).containerRequests[0]?.deviceIds ?? []
            self().calls.push(`Allocate ${ids.toSorted().join()}`)
            const { failsWith } = self()
            if (failsWith !== undefined) throw new GrpcError(grpcCodes.unknown, failsWith)
            const empty: ContainerAllocation = { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] }
            return allocate.encodeResponse({ containerResponses: [{ ...empty, ...allocation(ids) }] })
          },
        },
        [preStartContainer.path]: {
          async answer(bytes) {
            self().calls.push(`PreStartContainer ${preStartContainer.decodeRequest(bytes).deviceIds.toSorted().join()}`)
            return preStartContainer.encodeResponse({})
          },
        },
      },
    })
    holder.plugin = new TestDevicePlugin(options, () => server)
    return holder.plugin
  }

  /** Makes itself known; rejects with what the kubelet says. */
  async register(version = 'v1beta1'): Promise<void> {
    const { directory, resource } = this.#options
    const { path, encodeRequest } = devicePluginMethods.register
    using channel = await grpcChannel(`unix://${join(directory, 'kubelet.sock')}`)
    await channel.unary(path, encodeRequest({ version, endpoint: socketOf(resource), resourceName: resource }), { timeoutMs: 60_000 })
  }

  /** Tells of other devices. */
  tell(devices: PluginDevice[]): void {
    this.#devices = devices
    for (const peer of this.#watchers) void peer.send(devicePluginMethods.listAndWatch.encodeResponse({ devices }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close()
  }
}

const socketOf = (resource: string): string => `${resource.replaceAll('/', '-')}.sock`

export const aDevice = (id: string, node?: number, health = 'Healthy'): PluginDevice => ({
  id,
  health,
  ...(node === undefined ? {} : { topology: { nodes: [{ id: node }] } }),
})
