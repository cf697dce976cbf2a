/** The drivers of dynamic resources on this node, and what the cluster is told when one is gone: its devices are. */
import { Node } from '#api/core/v1/kinds.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import { backoffMs } from '#base/backoff.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Histogram } from '#base/metrics.ts'
import type { Client } from '#client/client.ts'
import { DraDriver } from '#kubelet/dra/dra-driver.ts'
import type { PluginHandler } from '#kubelet/plugins/plugin-registration.ts'
import { type DeviceHealth, type DraService, draServices } from '#wire/kubelet/dra-messages.ts'

export type DraDriversOptions = {
  nodeName: string
  client: Client
  clock: Clock
  logger: Logger
  duration: Histogram
  onHealth(driver: string, devices: DeviceHealth[] | undefined): void
}

/** So long a driver may be away, for an upgrade, before its devices are taken from the cluster. */
const wipeMs = 30_000
const firstRetryMs = 1000
const longestRetryMs = 300_000

export class DraDrivers implements AsyncDisposable {
  readonly #options: DraDriversOptions
  /** By name: the latest last. While one is replaced there are two. */
  readonly #drivers = new Map<string, DraDriver[]>()
  readonly #wipes = new Map<string, Timer>()
  readonly #stopping = new AbortController()

  constructor(options: DraDriversOptions) {
    this.#options = options
  }

  /** What drivers of before have told is not true until they say so again. */
  start(): void {
    void this.#wipe('')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    for (const timer of this.#wipes.values()) timer.cancel()
    for (const drivers of this.#drivers.values()) for (const driver of drivers) driver.stop()
  }

  register: PluginHandler = async ({ name, endpoint, supportedVersions }) => {
    const { clock, duration, onHealth, logger } = this.#options
    const present = this.#drivers.get(name) ?? []
    if (present.some((driver) => driver.endpoint === endpoint)) {
      throw new Error(`endpoint ${endpoint} already registered for DRA driver plugin ${name}`)
    }
    const service = serviceOf(name, endpoint, supportedVersions)
    const driver = await DraDriver.open({ name, endpoint, service, clock, duration })
    this.#drivers.set(name, [...present, driver])
    driver.follow({ onConnection: () => this.#check(name), onHealth: (devices) => onHealth(name, devices) })
    logger.info('DRA driver registered', { driver: name, endpoint, service })
    return { stop: () => driver.stop(), gone: () => this.#remove(driver) }
  }

  /** One that is connected, the latest of these. Throws where there is none at all. */
  get(name: string): DraDriver {
    const drivers = this.#drivers.get(name) ?? []
    const driver = drivers.findLast(({ isConnected }) => isConnected) ?? drivers.at(-1)
    if (driver === undefined) throw new Error(`DRA driver ${name} is not registered`)
    return driver
  }

  #remove(driver: DraDriver): void {
    driver.stop()
    const left = (this.#drivers.get(driver.name) ?? []).filter((each) => each !== driver)
    if (left.length === 0) this.#drivers.delete(driver.name)
    else this.#drivers.set(driver.name, left)
    this.#check(driver.name)
  }

  #check(name: string): void {
    const { clock, logger } = this.#options
    if (this.#stopping.signal.aborted) return
    if (this.#drivers.get(name)?.some(({ isConnected }) => isConnected)) {
      this.#wipes.get(name)?.cancel()
      this.#wipes.delete(name)
      return
    }
    if (this.#wipes.has(name)) return
    logger.info('DRA driver is not connected; its ResourceSlices will be removed unless it comes back', { driver: name, wipeMs })
    this.#wipes.set(
      name,
      clock.after(wipeMs, () => {
        this.#wipes.delete(name)
        void this.#wipe(name)
      }),
    )
  }

  /** Of all drivers where none is named. */
  async #wipe(driver: string): Promise<void> {
    const { client, clock, nodeName, logger } = this.#options
    const { signal } = this.#stopping
    const fieldSelector = `spec.nodeName=${nodeName}${driver === '' ? '' : `,spec.driver=${driver}`}`
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await client.get(Node, '', nodeName)
        if (driver !== '' && this.#drivers.get(driver)?.some(({ isConnected }) => isConnected)) return
        await client.deleteCollection(ResourceSlice, { fieldSelector })
        return
      } catch (error) {
        // An API server of old has no such kind: then there is nothing to remove.
        if (failures > 0 && isNotFound(error)) return
        logger.debug('failed to remove ResourceSlices of this node', { driver, error: errorMessage(error) })
      }
      await clock.sleep(backoffMs(failures, { firstMs: firstRetryMs, longestMs: longestRetryMs }), signal).catch(() => {})
    }
  }
}

function serviceOf(name: string, endpoint: string, supported: readonly string[]): DraService {
  const fail = (why: string): never => {
    throw new Error(`invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}: ${why}`)
  }
  if (supported.length === 0) return fail('empty list of supported gRPC services (aka supported versions)')
  const chosen = supported.find((service) => Object.hasOwn(draServices, service))
  const list = (names: readonly string[]) => `[${names.map((each) => JSON.stringify(each)).join(' ')}]`
  if (chosen !== undefined) return chosen as DraService
  return fail(
    `none of services supported by the plugin (${list(supported)}) are supported by the kubelet (${list(Object.keys(draServices))})`,
  )
}
