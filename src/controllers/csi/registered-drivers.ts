/** CSI drivers that have registered with nodes: what upstream leaves to sidecars is done for each that brings none. */

import { CSIDriver, CSINode } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSIDriver, V1CSINode } from '#api/storage/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { csiVolumeDriver } from '#controllers/csi/csi-volume-driver.ts'
import { type DriverAbilities, driverAbilities } from '#controllers/csi/driver-abilities.ts'
import { localDriverName } from '#controllers/csi/local-caller.ts'
import { nodeCsiCaller } from '#controllers/csi/node-csi-caller.ts'
import { type Role, rolesOfSidecars } from '#controllers/csi/sidecar-roles.ts'
import { StorageCapacities } from '#controllers/csi/storage-capacities.ts'
import { VolumeHealth } from '#controllers/csi/volume-health.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import type { VolumeDriver } from '#controllers/volume-driver/volume-driver.ts'
import { volumeDriverControllers } from '#controllers/volume-driver/volume-driver-controllers.ts'
import type { CsiCaller } from '#wire/csi/csi-driver.ts'

export type RegisteredDriversOptions = { client: Client; clock: Clock; random: Random; logger: Logger }

type Served = { roles: string; caller: CsiCaller; snapshots: boolean; stop(): Promise<void> }

const lookMs = 30_000
const retryMs = 5000

export class RegisteredDrivers implements AsyncDisposable {
  readonly #options: RegisteredDriversOptions
  readonly #nodes: Informer<V1CSINode>
  readonly #rules: Informer<V1CSIDriver>
  readonly #served = new Map<string, Served>()
  #timer: Timer | undefined
  #last: Promise<void> = Promise.resolve()
  #isDue = false
  #isStopped = false

  constructor(options: RegisteredDriversOptions) {
    this.#options = options
    this.#nodes = new Informer({ ...options, kind: CSINode })
    this.#rules = new Informer({ ...options, kind: CSIDriver })
  }

  start(): void {
    const look = () => void this.#look()
    this.#nodes.addHandler({ onAdd: look, onUpdate: look, onDelete: look })
    this.#rules.addHandler({ onAdd: look, onUpdate: look, onDelete: look })
    this.#nodes.start()
    this.#rules.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#nodes.stop()
    this.#rules.stop()
    await this.#last
    await Promise.all([...this.#served.values()].map((each) => each.stop()))
  }

  /** Who takes snapshots of the driver's volumes; undefined where that is somebody else's work. */
  snapshotCaller(driver: string): CsiCaller | undefined {
    const served = this.#served.get(driver)
    return served?.snapshots ? served.caller : undefined
  }

  #look(): Promise<void> {
    if (this.#isDue) return this.#last
    this.#isDue = true
    this.#last = this.#last.then(() => this.#reconcile())
    return this.#last
  }

  async #reconcile(): Promise<void> {
    const { clock, logger } = this.#options
    this.#isDue = false
    if (this.#isStopped) return
    this.#timer?.cancel()
    let nextMs = lookMs
    const names = new Set(this.#nodes.list().flatMap(({ spec }) => (spec.drivers ?? []).map(({ name }) => name)))
    names.delete(localDriverName)
    // A driver that does not answer keeps no other.
    const serving = [...names].map((name) =>
      this.#serve(name).catch((error: unknown) => {
        nextMs = retryMs
        logger.warn('failed to start the controllers of CSI driver', { driver: name, error: errorMessage(error) })
      }),
    )
    await Promise.all(serving)
    // Sidecars come and go as pods do.
    if (names.size > 0 && !this.#isStopped) this.#timer = clock.after(nextMs, () => void this.#look())
  }

  async #serve(name: string): Promise<void> {
    const { client, clock, random, logger } = this.#options
    const present = this.#served.get(name)
    const taken = await rolesOfSidecars(name, this.#rules.get('', name), client, clock)
    const roles = [...taken].sort().join()
    if (present?.roles === roles) return
    await present?.stop()
    this.#served.delete(name)
    const caller = this.#callerOf(name)
    const abilities = await driverAbilities(caller)
    if (!abilities.controller) {
      // Its controller is elsewhere, with its own sidecars.
      this.#served.set(name, { roles, caller, snapshots: false, stop: async () => {} })
      return
    }
    const driver = without(csiVolumeDriver({ name, caller, client, abilities }), taken)
    const seams = { client, clock, random, logger: logger.with({ component: 'csi', driver: name }) }
    const manager = new ControllerManager({ ...seams, controllers: [volumeDriverControllers(driver)], settings: defaultSettings })
    await manager.start()
    const watches = this.#watchesOf(name, caller, abilities, taken)
    logger.info('CSI driver is served by the built-in controllers', { driver: name, leftToSidecars: roles })
    this.#served.set(name, {
      ...{ roles, caller, snapshots: abilities.createDeleteSnapshot && !taken.has('snapshotter') },
      async stop() {
        for (const watch of watches) watch[Symbol.dispose]()
        await manager.stop()
      },
    })
  }

  #watchesOf(driver: string, caller: CsiCaller, abilities: DriverAbilities, taken: ReadonlySet<Role>): Disposable[] {
    const { client, clock, logger } = this.#options
    const usesCapacity = this.#rules.get('', driver)?.spec?.storageCapacity && abilities.getCapacity && !taken.has('provisioner')
    const parts = { driver, caller, client, clock, logger }
    return [
      ...(usesCapacity ? [new StorageCapacities(parts)] : []),
      ...(abilities.getVolume && abilities.volumeCondition ? [new VolumeHealth(parts)] : []),
    ]
  }

  /** Any node that has the driver will do; the one that answered last is asked first. */
  #callerOf(driver: string): CsiCaller {
    const { client, clock } = this.#options
    let last = ''
    return {
      call: async (name, request, options) => {
        const nodes = this.#nodes
          .list()
          .filter(({ spec }) => spec.drivers?.some((each) => each.name === driver))
          .map(({ metadata }) => metadata?.name ?? '')
          .sort((left, right) => Number(right === last) - Number(left === last))
        let failure: unknown = new Error(`driver ${driver} is on no node`)
        for (const nodeName of nodes) {
          try {
            const answer = await nodeCsiCaller({ client, clock, nodeName, driver }).call(name, request, options)
            last = nodeName
            return answer
          } catch (error) {
            if (!isOutOfReach(error)) throw error
            failure = error
          }
        }
        throw failure
      },
    }
  }
}

/** The call has not reached the driver: another node may be asked. */
const isOutOfReach = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'NodeIsGone' || /does not answer|not found in the list of registered CSI drivers/.test(error.message))

function without(driver: VolumeDriver, taken: ReadonlySet<Role>): VolumeDriver {
  const { provision, delete: remove, attach, detach, expand, modify, ...rest } = driver
  return {
    ...rest,
    ...(taken.has('provisioner') ? {} : defined({ provision, delete: remove })),
    ...(taken.has('attacher') ? {} : defined({ attach, detach })),
    ...(taken.has('resizer') ? {} : defined({ expand, modify })),
  }
}
