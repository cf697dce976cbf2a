/** How much room a driver has where, told to the scheduler by CSIStorageCapacity objects. */

import { createHash } from 'node:crypto'
import { isAlreadyExists, isNotFound } from '#api/meta/server-response.ts'
import { CSIStorageCapacity, StorageClass } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSIStorageCapacity, V1StorageClass } from '#api/storage/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import { driverParameters } from '#controllers/csi/class-parameters.ts'
import { clusterTopologies } from '#controllers/csi/topology.ts'
import type { CsiCaller } from '#wire/csi/csi-driver.ts'
import type { Topology } from '#wire/csi/csi-types.ts'

export type DriverWatchOptions = { driver: string; caller: CsiCaller; client: Client; clock: Clock; logger: Logger }

const everyMs = 60_000
const callMs = 120_000
const namespace = 'kube-system'
const labels = { driver: 'csi.storage.k8s.io/drivername', managedBy: 'csi.storage.k8s.io/managed-by' }

/** Asked for again every minute: nobody tells when room is taken. */
export class StorageCapacities implements Disposable {
  readonly #options: DriverWatchOptions
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: DriverWatchOptions) {
    this.#options = options
    void this.#look()
  }

  [Symbol.dispose](): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #look(): Promise<void> {
    const { logger, driver, clock } = this.#options
    try {
      await this.#publish()
    } catch (error) {
      logger.warn('failed to publish storage capacity', { driver, error: errorMessage(error) })
    }
    if (!this.#isStopped) this.#timer = clock.after(everyMs, () => void this.#look())
  }

  async #publish(): Promise<void> {
    const { driver, client } = this.#options
    const classes = (await client.list(StorageClass)).items.filter(({ provisioner }) => provisioner === driver)
    const places = await clusterTopologies(driver, client)
    const wanted = new Set<string>()
    for (const storageClass of classes) {
      // A driver without topology has its room everywhere.
      for (const topology of places.length === 0 ? [undefined] : places) wanted.add(await this.#publishOne(storageClass, topology))
    }
    const mine = await client.list(CSIStorageCapacity, {
      namespace,
      labelSelector: `${labels.driver}=${driver},${labels.managedBy}=typernetes`,
    })
    for (const { metadata } of mine.items) {
      const name = metadata?.name ?? ''
      if (!wanted.has(name)) await client.delete(CSIStorageCapacity, { namespace, name }).catch(unless(isNotFound))
    }
  }

  async #publishOne(storageClass: V1StorageClass, topology: Topology | undefined): Promise<string> {
    const { driver, client, caller } = this.#options
    const storageClassName = storageClass.metadata?.name ?? ''
    const request = { parameters: driverParameters(storageClass.parameters), ...defined({ accessibleTopology: topology }) }
    const { availableCapacity, maximumVolumeSize } = await caller.call('getCapacity', request, { timeoutMs: callMs })
    const segments = Object.entries(topology?.segments ?? {}).sort()
    const key = createHash('sha256')
      .update(JSON.stringify([driver, storageClassName, segments]))
      .digest('hex')
      .slice(0, 20)
    const capacity = {
      metadata: { name: `csisc-${key}`, namespace, labels: { [labels.driver]: driver, [labels.managedBy]: 'typernetes' } },
      storageClassName,
      nodeTopology: topology === undefined ? {} : { matchLabels: Object.fromEntries(segments) },
      capacity: String(availableCapacity),
      ...defined({ maximumVolumeSize: maximumVolumeSize ? String(maximumVolumeSize.value) : undefined }),
    } as V1CSIStorageCapacity
    await client.create(CSIStorageCapacity, capacity).catch(async (error: unknown) => {
      if (!isAlreadyExists(error)) throw error
      const { capacity: room, maximumVolumeSize: most } = capacity
      await client.patch(
        CSIStorageCapacity,
        capacity.metadata ?? {},
        { capacity: room, maximumVolumeSize: most ?? null },
        { type: 'merge' },
      )
    })
    return capacity.metadata?.name ?? ''
  }
}

const unless =
  (isExpected: (error: unknown) => boolean) =>
  (error: unknown): void => {
    if (!isExpected(error)) throw error
  }
