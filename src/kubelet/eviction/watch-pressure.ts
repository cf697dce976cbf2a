/** What keeps a node alive when it runs short of something, put together. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { parseDurationMs } from '#base/duration.ts'
import type { Host } from '#base/host.ts'
import type { KernelFiles } from '#base/kernel-files.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { EvictionManager } from '#kubelet/eviction/eviction-manager.ts'
import type { NodeLevels } from '#kubelet/eviction/signals.ts'
import { parseThresholds } from '#kubelet/eviction/thresholds.ts'
import { ImageGarbage, type ImageStore } from '#kubelet/images/image-garbage.ts'
import { machineUsage, processCounts } from '#kubelet/stats/proc-usage.ts'
import type { UsageSource } from '#kubelet/stats/usage.ts'

export type WatchPressureOptions = {
  configuration: KubeletConfiguration
  clock: Clock
  logger: Logger
  metrics: Metrics
  kernel: KernelFiles
  host: Pick<Host, 'fileSystem'>
  rootDirectory: string
  imageDirectory(): Promise<string | undefined>
  images: ImageStore
  usage: UsageSource
  pods(): readonly V1Pod[]
  evict(pod: V1Pod, message: string, graceMs: number): void
  warn(reason: string, message: string): void
  onChange(): void
}

/** What could not be read is no shortage. */
const unknownProcesses = { most: Number.MAX_SAFE_INTEGER, current: 0 }

export function watchPressure(options: WatchPressureOptions, running: DisposableStack): EvictionManager {
  const { configuration, clock, logger, metrics, kernel, host, rootDirectory, imageDirectory, images, warn } = options
  const imageFs = async () =>
    // Where the runtime does not say where images are, they are taken to be beside the rest.
    host.fileSystem((await imageDirectory().catch(() => undefined)) ?? rootDirectory).catch(() => host.fileSystem(rootDirectory))
  const garbage = running.use(
    new ImageGarbage({
      ...{ images, clock, logger, warn, fileSystem: imageFs },
      highPercent: configuration.imageGCHighThresholdPercent,
      lowPercent: configuration.imageGCLowThresholdPercent,
      minAgeMs: parseDurationMs(configuration.imageMinimumGCAge),
      maxAgeMs: parseDurationMs(configuration.imageMaximumGCAge),
    }),
  )
  const levels = async (): Promise<NodeLevels> => {
    const { memory } = machineUsage(kernel, clock.now())
    const capacityBytes = memory.limitBytes ?? 0
    // A process with too many files open can read none; no pod is evicted for that.
    if (capacityBytes === 0) throw new Error('the memory of the machine could not be read')
    return {
      memory: { capacityBytes, availableBytes: Math.max(0, capacityBytes - memory.workingSetBytes) },
      fs: await host.fileSystem(rootDirectory),
      imageFs: await imageFs(),
      processes: processCounts(kernel) ?? unknownProcesses,
    }
  }
  return running.use(
    new EvictionManager({
      ...{ clock, logger, levels, warn, usage: options.usage, pods: options.pods, evict: options.evict, onChange: options.onChange },
      thresholds: parseThresholds(configuration),
      transitionMs: parseDurationMs(configuration.evictionPressureTransitionPeriod),
      maxPodGraceMs: configuration.evictionMaxPodGracePeriod * 1000,
      reclaimDisk: () => garbage.removeUnused(),
      evictions: metrics.counter('kubelet_evictions', 'Pods evicted, by what the node had too little of'),
    }),
  )
}
