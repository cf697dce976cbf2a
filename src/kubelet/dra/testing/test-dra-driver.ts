/** A driver of dynamic resources behind sockets, as its author would write it. */
import { join } from 'node:path'
import { nodeFiles } from '#base/files.ts'
import { type GrpcPeer, type GrpcServer, startGrpcServer } from '#base/grpc.ts'
import {
  decodeRegistrationStatus,
  encodePluginInfo,
  encodeRegistrationStatus,
  getInfoMethod,
  notifyMethod,
  type RegistrationStatus,
} from '#wire/csi/registration-messages.ts'
import {
  type DeviceHealth,
  type DraClaim,
  type DraDevice,
  type DraService,
  draMethods,
  draPath,
  healthPath,
} from '#wire/kubelet/dra-messages.ts'

export type TestDraDriverOptions = {
  name: string
  /** Its own socket is in it. */
  directory: string
  /** The agent's `plugins_registry`. */
  registry: string
  service?: DraService
  devices?(claim: DraClaim): DraDevice[]
}

export class TestDraDriver implements AsyncDisposable {
  /** What was asked, in order: `prepare ns/claim`. */
  readonly calls: string[] = []
  failsWith = ''
  readonly registered: Promise<RegistrationStatus>
  readonly #servers: readonly GrpcServer[]
  readonly #watchers: Set<GrpcPeer>

  private constructor(parts: { servers: GrpcServer[]; watchers: Set<GrpcPeer>; registered: Promise<RegistrationStatus> }) {
    this.#servers = parts.servers
    this.#watchers = parts.watchers
    this.registered = parts.registered
  }

  static async start({
    name,
    directory,
    registry,
    service = 'v1.DRAPlugin',
    devices = () => [],
  }: TestDraDriverOptions): Promise<TestDraDriver> {
    const holder: { driver?: TestDraDriver } = {}
    const self = () => holder.driver as TestDraDriver
    const endpoint = join(directory, 'dra.sock')
    const watchers = new Set<GrpcPeer>()
    const { prepare, unprepare } = draMethods
    const own = await startGrpcServer({
      address: `unix:${endpoint}`,
      handlers: {
        [draPath(service, 'prepare')]: {
          async answer(bytes) {
            const { claims } = prepare.decodeRequest(bytes)
            for (const claim of claims) self().calls.push(`prepare ${claim.namespace}/${claim.name}`)
            const error = self().failsWith
            return prepare.encodeResponse({
              claims: claims.map((claim) => ({ key: claim.uid, value: { error, devices: error === '' ? devices(claim) : [] } })),
            })
          },
        },
        [draPath(service, 'unprepare')]: {
          async answer(bytes) {
            const { claims } = unprepare.decodeRequest(bytes)
            for (const claim of claims) self().calls.push(`unprepare ${claim.namespace}/${claim.name}`)
            return unprepare.encodeResponse({ claims: claims.map((claim) => ({ key: claim.uid, value: { error: self().failsWith } })) })
          },
        },
        [healthPath]: {
          converse(peer) {
            watchers.add(peer)
            peer.onClosed(() => watchers.delete(peer))
          },
        },
      },
    })
    const status = Promise.withResolvers<RegistrationStatus>()
    const servers = [own]
    holder.driver = new TestDraDriver({ servers, watchers, registered: status.promise })
    await nodeFiles.makeDirectory(registry, { mode: 0o750 })
    servers.push(
      await startGrpcServer({
        address: `unix:${join(registry, `${name}-reg.sock`)}`,
        handlers: {
          [getInfoMethod]: { answer: async () => encodePluginInfo({ type: 'DRAPlugin', name, endpoint, supportedVersions: [service] }) },
          [notifyMethod]: {
            async answer(bytes) {
              status.resolve(decodeRegistrationStatus(bytes))
              return encodeRegistrationStatus({ pluginRegistered: true, error: '' })
            },
          },
        },
      }),
    )
    return holder.driver
  }

  tell(devices: DeviceHealth[]): void {
    for (const peer of this.#watchers) void peer.send(draMethods.watchHealth.encodeResponse({ devices }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()))
  }
}
