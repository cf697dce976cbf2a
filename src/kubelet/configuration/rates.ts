/** How often a kubelet may do what it does, in the units of those who do it. */
import { wholeValueOf } from '#api/meta/quantity.ts'
import { parseDurationMs } from '#base/duration.ts'
import type { EventRecorderOptions } from '#client/events/event-recorder.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import type { KubeletOptions } from '#kubelet/node/kubelet-options.ts'
import type { RotationPolicy } from '#kubelet/runtimes/cri/log-rotation.ts'

export function eventLimitOf({ eventRecordQPS: perSecond, eventBurst: burst }: KubeletConfiguration): Pick<EventRecorderOptions, 'limit'> {
  return perSecond > 0 ? { limit: { perSecond, burst: Math.max(1, burst) } } : {}
}

export function rhythmOf(configuration: KubeletConfiguration): NonNullable<KubeletOptions['rhythm']> {
  return {
    checkMs: parseDurationMs(configuration.nodeStatusUpdateFrequency),
    heartbeatMs: parseDurationMs(configuration.nodeStatusReportFrequency),
    leaseSeconds: configuration.nodeLeaseDurationSeconds,
  }
}

export function logRotationOf(configuration: KubeletConfiguration): RotationPolicy {
  return {
    maxBytes: wholeValueOf(configuration.containerLogMaxSize),
    maxFiles: configuration.containerLogMaxFiles,
    everyMs: parseDurationMs(configuration.containerLogMonitorInterval),
    workers: configuration.containerLogMaxWorkers,
  }
}

const longestRestartMs = 300_000

/** Throws with what is wrong. */
export function checkRates(configuration: KubeletConfiguration): void {
  const { maxParallelImagePulls, serializeImagePulls, containerLogMaxWorkers, nodeLeaseDurationSeconds, crashLoopBackOff } = configuration
  for (const field of ['registryPullQPS', 'registryBurst', 'eventRecordQPS', 'eventBurst', 'podsPerCore'] as const) {
    if (configuration[field] < 0) throw new Error(`${field} ${configuration[field]} must not be a negative number`)
  }
  if (serializeImagePulls && maxParallelImagePulls > 1) {
    throw new Error('maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) set to false')
  }
  if (maxParallelImagePulls < 0) throw new Error(`maxParallelImagePulls ${maxParallelImagePulls} must be a positive number`)
  if (containerLogMaxWorkers < 1) throw new Error(`containerLogMaxWorkers must be greater than or equal to 1: ${containerLogMaxWorkers}`)
  if (nodeLeaseDurationSeconds <= 0) throw new Error('nodeLeaseDurationSeconds must be greater than 0')
  const restartMs = parseDurationMs(crashLoopBackOff.maxContainerRestartPeriod)
  if (restartMs < 1000 || restartMs > longestRestartMs) {
    throw new Error(`CrashLoopBackOff.MaxContainerRestartPeriod (got: ${restartMs / 1000} seconds) must be set between 1s and 300s`)
  }
}
