/** A kubelet's configuration by `spec.configSource` of its node: chosen when it starts, and followed while it runs. */

import { ConfigMap, Node } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap, V1ConfigMapNodeConfigSource, V1Node, V1NodeConfigStatus } from '#api/core/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { addConfigMetrics } from '#kubelet/configuration/dynamic/config-metrics.ts'
import { ConfigStore, type ConfigVersion, isSameVersion } from '#kubelet/configuration/dynamic/config-store.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { InvalidKubeletConfiguration, readKubeletConfiguration } from '#kubelet/configuration/read-configuration.ts'

export type DynamicConfigurationOptions = { directory: string; nodeName: string; files: Files; clock: Clock; logger: Logger }

export type FollowOptions = {
  client: Client
  random: Random
  metrics: Metrics
  /** Tells, and starts the kubelet again, which chooses anew. */
  restart(message: string): void
  /** What the status says has changed. */
  onStatus(): void
}

/** A configuration that has been in use for so long is good. */
const trialMs = 600_000
const retryMs = 10_000

/** What users read in `status.config.error`; the details are in the log, since they may be secret. */
const troubles = {
  load: 'failed to load config, see Kubelet log for details',
  validate: 'failed to validate config, see Kubelet log for details',
  empty: 'invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil',
  download: 'failed to download config, see Kubelet log for details',
  internal: 'internal failure, see Kubelet log for details',
}

export class DynamicConfiguration {
  readonly #options: DynamicConfigurationOptions
  readonly #store: ConfigStore
  #assigned: ConfigVersion | undefined
  #active: ConfigVersion | undefined
  #lastKnownGood: ConfigVersion | undefined
  /** Why what is assigned is not active. */
  #startError: string | undefined
  #syncError: string | undefined
  #syncing: Promise<void> = Promise.resolve()
  /** Files are read before the trial's time is known, and written at its end. */
  #trial: Promise<void> = Promise.resolve()

  constructor(options: DynamicConfigurationOptions) {
    this.#options = options
    this.#store = new ConfigStore(options.directory, options)
  }

  /** Undefined where the kubelet's own files decide. Throws when neither what is assigned nor what was good last can be read. */
  async choose(): Promise<KubeletConfiguration | undefined> {
    const { logger, files } = this.#options
    this.#assigned = await this.#store.read('assigned')
    this.#lastKnownGood = await this.#store.read('last-known-good')
    this.#active = undefined
    this.#startError = undefined
    if (this.#assigned === undefined) return undefined
    const read = async (version: ConfigVersion) => {
      const path = this.#store.pathOf(version)
      return (await readKubeletConfiguration(await files.readText(path), path)).configuration
    }
    try {
      const configuration = await read(this.#assigned)
      this.#active = this.#assigned
      return configuration
    } catch (error) {
      this.#startError = error instanceof InvalidKubeletConfiguration ? troubles.validate : troubles.load
      logger.error('failed to use the kubelet configuration of the ConfigMap, using the last good one', { error: String(error) })
    }
    if (this.#lastKnownGood === undefined) return undefined
    const configuration = await read(this.#lastKnownGood)
    this.#active = this.#lastKnownGood
    return configuration
  }

  /** For the node's status; undefined where there is nothing to tell. */
  get status(): V1NodeConfigStatus | undefined {
    const source = (configMap: ConfigVersion | undefined) => configMap && { configMap }
    const error = this.#syncError ?? this.#startError
    const [assigned, active, lastKnownGood] = [this.#assigned, this.#active, this.#lastKnownGood].map(source)
    const status: V1NodeConfigStatus = defined({ assigned, active, lastKnownGood, error })
    return Object.keys(status).length === 0 ? undefined : status
  }

  follow(options: FollowOptions): Disposable {
    const { clock, logger, nodeName } = this.#options
    const following = new DisposableStack()
    const { client, random } = options
    const nodes = new Informer<V1Node>({ client, clock, random, logger, kind: Node, fieldSelector: `metadata.name=${nodeName}` })
    let source: V1ConfigMapNodeConfigSource | undefined
    let maps: Informer<V1ConfigMap> | undefined
    let again: Timer | undefined
    const sync = () => {
      again?.cancel()
      this.#syncing = this.#syncing
        .then(() => this.#sync(nodes.get('', nodeName), options))
        .catch((error: unknown) => {
          this.#fail(troubles.internal, error, options)
        })
        .then(() => {
          if (this.#syncError !== undefined && !following.disposed) again = clock.after(retryMs, sync)
        })
    }
    const onNode = ({ spec }: V1Node) => {
      const next = spec?.configSource?.configMap
      if (next?.namespace !== source?.namespace || next?.name !== source?.name) {
        maps?.stop()
        maps = next && new Informer({ ...{ client, clock, random, logger, kind: ConfigMap }, ...selectionOf(next) })
        maps?.addHandler({ onAdd: sync, onUpdate: sync, onDelete: sync })
        maps?.start()
      }
      source = next
      sync()
    }
    nodes.addHandler({ onAdd: onNode, onUpdate: onNode, onDelete: () => {} })
    nodes.start()
    following.defer(() => nodes.stop())
    following.defer(() => maps?.stop())
    following.defer(() => again?.cancel())
    following.defer(this.#beginTrial(options))
    addConfigMetrics(options.metrics, () => ({
      sources: { assigned: this.#assigned, active: this.#active, last_known_good: this.#lastKnownGood },
      hasError: (this.#syncError ?? this.#startError) !== undefined,
    }))
    return following
  }

  /** Resolves when what was heard has been looked at, and what is to be kept is written. */
  async settled(): Promise<void> {
    await this.#syncing
    await this.#trial
  }

  async #sync(node: V1Node | undefined, options: FollowOptions): Promise<void> {
    if (node === undefined) return
    const { configSource } = node.spec ?? {}
    if (configSource === undefined) {
      if (await this.#store.reset()) options.restart('Kubelet restarting to use local config')
      this.#succeed(options)
      return
    }
    const { configMap } = configSource
    if (configMap === undefined) {
      this.#fail(troubles.empty, undefined, options)
      return
    }
    let map: V1ConfigMap
    try {
      map = await options.client.get(ConfigMap, configMap.namespace, configMap.name)
    } catch (error) {
      this.#fail(troubles.download, error, options)
      return
    }
    const { uid = '', resourceVersion = '' } = map.metadata ?? {}
    const version: ConfigVersion = { ...configMap, uid, resourceVersion }
    if (!isSameVersion(version, await this.#store.read('assigned'))) {
      await this.#store.save(version, map.data ?? {})
      await this.#store.write('assigned', version)
      options.restart(`Kubelet restarting to use ${describe(version)}`)
    }
    this.#succeed(options)
  }

  #fail(trouble: string, error: unknown, { onStatus }: FollowOptions): void {
    const message = `failed to sync: ${trouble}`
    this.#options.logger.error(message, { node: this.#options.nodeName, error: String(error) })
    if (this.#syncError === message) return
    this.#syncError = message
    onStatus()
  }

  #succeed({ onStatus }: FollowOptions): void {
    if (this.#syncError === undefined) return
    this.#syncError = undefined
    onStatus()
  }

  /** What is assigned becomes the last good one when its time is over. */
  #beginTrial({ onStatus }: FollowOptions): () => void {
    const { clock, logger } = this.#options
    const version = this.#assigned
    if (version === undefined || this.#startError !== undefined || isSameVersion(version, this.#lastKnownGood)) return () => {}
    let timer: Timer | undefined
    let isOver = false
    const failed = (error: unknown) =>
      logger.error('failed to keep the kubelet configuration as the last good one', { error: String(error) })
    const end = async () => {
      await this.#store.write('last-known-good', version)
      this.#lastKnownGood = version
      onStatus()
    }
    const begin = async () => {
      const leftMs = ((await this.#store.changedMs('assigned')) ?? clock.now()) + trialMs - clock.now()
      if (isOver) return
      timer = clock.after(Math.max(0, leftMs), () => {
        this.#trial = end().catch(failed)
      })
    }
    this.#trial = begin().catch(failed)
    return () => {
      isOver = true
      timer?.cancel()
    }
  }
}

const selectionOf = ({ namespace, name }: V1ConfigMapNodeConfigSource) => ({ namespace, fieldSelector: `metadata.name=${name}` })

const describe = ({ namespace, name, uid, resourceVersion, kubeletConfigKey }: ConfigVersion): string =>
  `/api/v1/namespaces/${namespace}/configmaps/${name}, UID: ${uid}, ResourceVersion: ${resourceVersion}, KubeletConfigKey: ${kubeletConfigKey}`
