/** Programs that make themselves known by a socket in the node's registry directory; CSI drivers are such. */
import { join } from 'node:path'
import { quoted } from '#api/meta/check.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import { type GrpcStreamChannel, grpcChannel } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import type { CsiDrivers } from '#kubelet/csi/csi-drivers.ts'
import { callerOver } from '#wire/csi/csi-driver.ts'
import {
  decodePluginInfo,
  encodeInfoRequest,
  encodeRegistrationStatus,
  getInfoMethod,
  notifyMethod,
  type PluginInfo,
} from '#wire/csi/registration-messages.ts'

export type PluginRegistrationOptions = { directory: string; files: Files; clock: Clock; logger: Logger; drivers: CsiDrivers }

type Registered = { inode: number; name: string; endpoint: string; channel: GrpcStreamChannel }

const callMs = 10_000
const firstRetryMs = 500
const longestRetryMs = 60_000

/** Looks when the directory changes, and again while a plugin does not answer. */
export class PluginRegistration implements AsyncDisposable {
  readonly #options: PluginRegistrationOptions
  readonly #registered = new Map<string, Registered>()
  #watch: Disposable | undefined
  #timer: Timer | undefined
  #retryMs = firstRetryMs
  #last: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(options: PluginRegistrationOptions) {
    this.#options = options
  }

  /** Resolves when what is there already has been asked. */
  async start(): Promise<void> {
    const { directory, files } = this.#options
    await files.makeDirectory(directory, { mode: 0o750 })
    this.#watch = files.watch(directory, () => void this.#look())
    await this.#look()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    this.#watch?.[Symbol.dispose]()
    this.#timer?.cancel()
    await this.#last
    for (const { channel } of this.#registered.values()) channel[Symbol.dispose]()
  }

  #look(): Promise<void> {
    this.#last = this.#last
      .then(() => this.#reconcile())
      .catch((error: unknown) => this.#options.logger.warn('failed to look for plugins', { error: String(error) }))
    return this.#last
  }

  async #reconcile(): Promise<void> {
    const { directory, files, clock, drivers, logger } = this.#options
    if (this.#isStopped) return
    this.#timer?.cancel()
    const present = new Map<string, number>()
    for (const name of await files.list(directory)) {
      const stat = await files.stat(join(directory, name))
      if (stat?.kind === 'socket' && !name.startsWith('.')) present.set(join(directory, name), stat.inode)
    }
    for (const [path, plugin] of this.#registered) {
      // A socket that was made anew is another plugin, or another version of it.
      if (present.get(path) === plugin.inode) continue
      this.#registered.delete(path)
      plugin.channel[Symbol.dispose]()
      logger.info('plugin is gone', { plugin: plugin.name, path })
      drivers.remove(plugin)
    }
    let isMissing = false
    for (const [path, inode] of present) {
      if (this.#registered.has(path)) continue
      await this.#register(path, inode).catch((error: unknown) => {
        isMissing = true
        logger.warn('failed to register plugin', { path, error: errorMessage(error) })
      })
    }
    if (!isMissing) {
      this.#retryMs = firstRetryMs
      return
    }
    this.#timer = clock.after(this.#retryMs, () => void this.#look())
    this.#retryMs = Math.min(longestRetryMs, this.#retryMs * 2)
  }

  async #register(path: string, inode: number): Promise<void> {
    using registration = await grpcChannel(`unix://${path}`)
    const options = { timeoutMs: callMs }
    const info = decodePluginInfo(await registration.unary(getInfoMethod, encodeInfoRequest(), options))
    try {
      await this.#add(path, inode, info)
    } catch (error) {
      const failed = {
        pluginRegistered: false,
        error: `RegisterPlugin error -- plugin registration failed with err: ${errorMessage(error)}`,
      }
      await registration.unary(notifyMethod, encodeRegistrationStatus(failed), options).catch(() => {})
      throw error
    }
    await registration.unary(notifyMethod, encodeRegistrationStatus({ pluginRegistered: true, error: '' }), options)
    this.#options.logger.info('plugin registered', { plugin: info.name, endpoint: info.endpoint || path })
  }

  async #add(path: string, inode: number, { type, name, endpoint, supportedVersions }: PluginInfo): Promise<void> {
    if (type !== 'CSIPlugin') throw new Error(`no handler registered for plugin type: ${type} at socket ${path}`)
    if (name === '') throw new Error(`plugin at socket ${path} has no name`)
    if (!supportedVersions.some((version) => /^v?1\.\d+/.test(version))) {
      throw new Error(
        `driver ${quoted(name)} supports no version of CSI that this node does; its versions are ${JSON.stringify(supportedVersions)}`,
      )
    }
    const place = endpoint || path
    const channel = await grpcChannel(`unix://${place}`)
    try {
      const caller = callerOver(channel)
      const { nodeId, maxVolumesPerNode = 0, accessibleTopology } = await caller.call('nodeGetInfo', {}, { timeoutMs: callMs })
      if (nodeId === '') throw new Error(`driver ${quoted(name)} gave no id of this node`)
      this.#registered.set(path, { inode, name, endpoint: place, channel })
      this.#options.drivers.set({
        name,
        caller,
        endpoint: place,
        nodeId,
        maxVolumes: maxVolumesPerNode,
        topology: accessibleTopology?.segments ?? {},
      })
    } catch (error) {
      channel[Symbol.dispose]()
      throw error
    }
  }
}
