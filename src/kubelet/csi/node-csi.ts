import { join } from 'node:path'
import { CSIDriver } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSIDriver } from '#api/storage/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Host } from '#base/host.ts'
import type { Logger } from '#base/log.ts'
import type { Mounts } from '#base/mounts.ts'
import type { Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { CsiDrivers } from '#kubelet/csi/csi-drivers.ts'
import { CsiNodeObject } from '#kubelet/csi/csi-node-object.ts'
import { localDriver } from '#kubelet/csi/local-driver/local-driver.ts'
import { localDriverName } from '#kubelet/csi/local-driver/local-driver-name.ts'
import { csiRegistration } from '#kubelet/csi/register-driver.ts'
import { type PluginHandler, PluginRegistration } from '#kubelet/plugins/plugin-registration.ts'
import { callerOf } from '#wire/csi/csi-driver.ts'

export type NodeCsiOptions = {
  nodeName: string
  rootDirectory: string
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  files: Files
  mounts: Mounts
  processes: Processes
  host: Pick<Host, 'fileSystem'>
  isInUse(volumeId: string): boolean
  /** Of plugins of other types that register in the same directory. */
  pluginHandlers?: Readonly<Record<string, PluginHandler>>
}

/** How long a CSIDriver object is waited for before the agent goes on without: one may not exist, but must not be overlooked. */
const patienceMs = 5000

/** CSI on one node: the built-in driver, those that register, and what the cluster is told of them. */
export class NodeCsi implements AsyncDisposable {
  readonly drivers: CsiDrivers
  readonly #options: NodeCsiOptions
  readonly #object: CsiNodeObject
  readonly #registration: PluginRegistration
  readonly #rules: Informer<V1CSIDriver>

  constructor(options: NodeCsiOptions) {
    this.#options = options
    const { nodeName, rootDirectory, client, clock, random, logger, files } = options
    this.drivers = new CsiDrivers({ onChange: () => void this.#object.tell() })
    this.#object = new CsiNodeObject({ nodeName, client, clock, logger, drivers: this.drivers })
    this.#registration = new PluginRegistration({
      directory: join(rootDirectory, 'plugins_registry'),
      files,
      clock,
      logger,
      handlers: { ...options.pluginHandlers, CSIPlugin: csiRegistration(this.drivers, clock) },
    })
    this.#rules = new Informer({ client, clock, random, logger, kind: CSIDriver })
  }

  /** Resolves when drivers that are there are known. The cluster hears of them once the node is registered. */
  async start(): Promise<void> {
    const { nodeName, rootDirectory, files } = this.#options
    this.#rules.start()
    const directory = join(rootDirectory, 'local-storage')
    await files.makeDirectory(directory, { mode: 0o711 })
    const caller = callerOf(localDriver({ ...this.#options, directory }))
    const topology = { 'kubernetes.io/hostname': nodeName }
    this.drivers.set({ name: localDriverName, caller, endpoint: '', nodeId: nodeName, maxVolumes: 0, topology })
    await this.#registration.start()
  }

  driverObject = async (name: string): Promise<V1CSIDriver | undefined> => {
    if (!this.#rules.hasSynced) await Promise.race([this.#rules.synced, this.#options.clock.sleep(patienceMs)])
    return this.#rules.get('', name)
  }

  seLinux = { isEnabled: async (): Promise<boolean> => (await this.#options.files.stat('/sys/fs/selinux/enforce')) !== undefined }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#rules.stop()
    await this.#registration[Symbol.asyncDispose]()
    await this.#object[Symbol.asyncDispose]()
  }
}
