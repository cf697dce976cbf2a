import type { V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { PodDirectories } from '#kubelet/runtime-helper/pod-directories.ts'
import { emptyDirVolume } from '#kubelet/volumes/empty-dir.ts'
import { podUid } from '#kubelet/volumes/volume-plugin.ts'

export type EmptyDirLimitsOptions = {
  clock: Clock
  logger: Logger
  files: Pick<Files, 'usage'>
  directories: PodDirectories
  /** Those whose containers may run. */
  pods(): Iterable<V1Pod>
  /** The pod has taken more than it may: it fails as `Evicted`, with a second to end. */
  evict(pod: V1Pod, message: string): void
}

const periodMs = 10_000

/** Finds pods that have put more on the node's disk than their volumes may hold. What is in memory the kernel limits by itself. */
export class EmptyDirLimits implements Disposable {
  readonly #options: EmptyDirLimitsOptions
  readonly #timer: Timer
  #looking: Promise<void> | undefined

  constructor(options: EmptyDirLimitsOptions) {
    this.#options = options
    this.#timer = options.clock.every(periodMs, () => {
      this.#looking ??= this.look().finally(() => {
        this.#looking = undefined
      })
    })
  }

  [Symbol.dispose](): void {
    this.#timer.cancel()
  }

  /** Resolves when all pods have been looked at. */
  async look(): Promise<void> {
    const { pods, logger, evict } = this.#options
    for (const pod of pods()) {
      for (const volume of (pod.spec.volumes ?? []).filter(hasDiskLimit)) {
        const sizeLimit = volume.emptyDir?.sizeLimit ?? ''
        const usedBytes = await this.#usedBytes(pod, volume).catch((error: unknown) => {
          logger.debug('failed to measure emptyDir usage', { pod: podUid(pod), volume: volume.name, error: String(error) })
          return 0
        })
        if (usedBytes <= parseQuantity(sizeLimit).value()) continue
        evict(pod, `Usage of EmptyDir volume "${volume.name}" exceeds the limit "${parseQuantity(sizeLimit)}". `)
        break
      }
    }
  }

  async #usedBytes(pod: V1Pod, volume: V1Volume): Promise<number> {
    const { files, directories } = this.#options
    return (await files.usage(directories.volume(podUid(pod), emptyDirVolume.name, volume.name))).usedBytes
  }
}

const hasDiskLimit = ({ emptyDir }: V1Volume): boolean =>
  emptyDir?.sizeLimit !== undefined && !emptyDir.medium && parseQuantity(emptyDir.sizeLimit).sign > 0
