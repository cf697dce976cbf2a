/** Programs that make themselves known by a socket in the node's registry directory: CSI drivers, DRA drivers, device plugins. */
import { join } from 'node:path'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import { grpcChannel } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import {
  decodePluginInfo,
  encodeInfoRequest,
  encodeRegistrationStatus,
  getInfoMethod,
  notifyMethod,
  type PluginInfo,
} from '#wire/csi/registration-messages.ts'

/** What is to be done with a plugin that has made itself known. Rejects where it cannot be used; the plugin is told why. */
export type PluginHandler = (plugin: {
  name: string
  /** Where it is spoken to. */
  endpoint: string
  supportedVersions: string[]
}) => Promise<PluginRegistered>

/** The plugin's socket is gone, or the agent stops. */
export type PluginRegistered = { gone(): void; stop(): void }

export type PluginRegistrationOptions = {
  directory: string
  files: Files
  clock: Clock
  logger: Logger
  /** By type: `CSIPlugin`, `DRAPlugin`, `DevicePlugin`. */
  handlers: Readonly<Record<string, PluginHandler>>
}

type Registered = { inode: number; name: string; registration: PluginRegistered }

const registrationMs = 10_000
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
    for (const { registration } of this.#registered.values()) registration.stop()
  }

  #look(): Promise<void> {
    this.#last = this.#last
      .then(() => this.#reconcile())
      .catch((error: unknown) => this.#options.logger.warn('failed to look for plugins', { error: String(error) }))
    return this.#last
  }

  async #reconcile(): Promise<void> {
    const { directory, files, clock, logger } = this.#options
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
      logger.info('plugin is gone', { plugin: plugin.name, path })
      plugin.registration.gone()
    }
    let isMissing = false
    // One that does not answer keeps no other.
    const registering = [...present].map(async ([path, inode]) => {
      if (this.#registered.has(path)) return
      await this.#register(path, inode).catch((error: unknown) => {
        isMissing = true
        logger.warn('failed to register plugin', { path, error: errorMessage(error) })
      })
    })
    await Promise.all(registering)
    if (!isMissing) {
      this.#retryMs = firstRetryMs
      return
    }
    this.#timer = clock.after(this.#retryMs, () => void this.#look())
    this.#retryMs = Math.min(longestRetryMs, this.#retryMs * 2)
  }

  async #register(path: string, inode: number): Promise<void> {
    using registration = await grpcChannel(`unix://${path}`)
    const options = { timeoutMs: registrationMs }
    const info = decodePluginInfo(await registration.unary(getInfoMethod, encodeInfoRequest(), options))
    try {
      await this.#add(path, inode, info)
    } catch (error) {
      const failed = {
        pluginRegistered: false,
        error: `RegisterPlugin error -- plugin registration failed with err: ${errorMessage(error)}`,
      }
      // The plugin may be gone; why it was refused is thrown below.
      await registration.unary(notifyMethod, encodeRegistrationStatus(failed), options).catch(() => {})
      throw error
    }
    await registration.unary(notifyMethod, encodeRegistrationStatus({ pluginRegistered: true, error: '' }), options)
    this.#options.logger.info('plugin registered', { plugin: info.name, endpoint: info.endpoint || path })
  }

  async #add(path: string, inode: number, { type, name, endpoint, supportedVersions }: PluginInfo): Promise<void> {
    const register = Object.hasOwn(this.#options.handlers, type) ? this.#options.handlers[type] : undefined
    if (register === undefined) throw new Error(`no handler registered for plugin type: ${type} at socket ${path}`)
    if (name === '') throw new Error(`plugin at socket ${path} has no name`)
    const registration = await register({ name, endpoint: endpoint || path, supportedVersions })
    this.#registered.set(path, { inode, name, registration })
  }
}
