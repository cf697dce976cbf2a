/** Tells users of volumes that their driver finds unwell, by events on the claims. */
import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import type { DriverWatchOptions } from '#controllers/csi/storage-capacities.ts'

const everyMs = 60_000
const callMs = 120_000

export class VolumeHealth implements Disposable {
  readonly #options: DriverWatchOptions
  readonly #events: EventRecorder
  readonly #unwell = new Set<string>()
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: DriverWatchOptions) {
    this.#options = options
    this.#events = new EventRecorder({ ...options, component: 'csi-external-health-monitor-controller' })
    this.#timer = options.clock.after(everyMs, () => void this.#look())
  }

  [Symbol.dispose](): void {
    this.#isStopped = true
    this.#timer?.cancel()
    void this.#events[Symbol.asyncDispose]()
  }

  async #look(): Promise<void> {
    const { logger, driver, clock, client } = this.#options
    const failed = (error: unknown) => logger.warn('failed to check volume health', { driver, error: errorMessage(error) })
    try {
      const { items } = await client.list(PersistentVolume)
      for (const volume of items) {
        if (volume.spec?.csi?.driver !== driver || volume.status?.phase !== 'Bound') continue
        if (!this.#isStopped) await this.#check(volume).catch(failed)
      }
    } catch (error) {
      failed(error)
    }
    if (!this.#isStopped) this.#timer = clock.after(everyMs, () => void this.#look())
  }

  async #check({ spec }: V1PersistentVolume): Promise<void> {
    const { caller, client } = this.#options
    const volumeId = spec?.csi?.volumeHandle ?? ''
    const { status } = await caller.call('controllerGetVolume', { volumeId }, { timeoutMs: callMs })
    const { abnormal = false, message = '' } = status?.volumeCondition ?? {}
    if (abnormal === this.#unwell.has(volumeId)) return
    const { namespace = '', name = '' } = spec?.claimRef ?? {}
    const claim = await client.get(PersistentVolumeClaim, namespace, name).catch(ignoreNotFound)
    if (claim === undefined) return
    if (abnormal) {
      this.#unwell.add(volumeId)
      this.#events.warning(PersistentVolumeClaim, claim, 'VolumeConditionAbnormal', message)
    } else {
      this.#unwell.delete(volumeId)
      this.#events.normal(PersistentVolumeClaim, claim, 'VolumeConditionNormal', 'The Volume returns to the healthy state')
    }
  }
}
