/** A container runtime whose calls are counted, by upstream's names. */
import type { Clock } from '#base/clock.ts'
import type { Metrics } from '#base/metrics.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import type { CriUnaryName } from '#wire/cri/cri-messages.ts'

/** Where upstream's name for an operation is not just the call's, in small letters. */
const names: Partial<Record<CriUnaryName, string>> = {
  runPodSandbox: 'run_podsandbox',
  stopPodSandbox: 'stop_podsandbox',
  removePodSandbox: 'remove_podsandbox',
  podSandboxStatus: 'podsandbox_status',
  listPodSandbox: 'list_podsandbox',
  updateContainerResources: 'update_container',
  portForward: 'port_forward',
}

const operationOf = (name: CriUnaryName): string => names[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const buckets = [0.005, 0.0125, 0.03125, 0.078125, 0.1953125, 0.48828125, 1.220703125, 3.0517578125, 7.62939453125, 19.073486328125]

const handlerOf = (request: unknown) => ({ runtime_handler: (request as { runtimeHandler?: string }).runtimeHandler ?? '' })

export function measuredConnection(connection: CriConnection, metrics: Metrics, clock: Clock): CriConnection {
  const total = metrics.counter('kubelet_runtime_operations_total', 'Calls of the container runtime, by operation.')
  const errors = metrics.counter('kubelet_runtime_operations_errors_total', 'Calls of the container runtime that failed, by operation.')
  const duration = metrics.histogram(
    'kubelet_runtime_operations_duration_seconds',
    'How long calls of the container runtime took, by operation.',
    buckets,
  )
  const sandboxes = metrics.histogram('kubelet_run_podsandbox_duration_seconds', 'How long sandboxes of pods took to run.', buckets)
  const sandboxErrors = metrics.counter('kubelet_run_podsandbox_errors_total', 'Sandboxes of pods that could not be run.')
  const podErrors = metrics.counter('kubelet_started_pods_errors_total', 'Starts of pods that failed.')
  return {
    async call(name, request, options) {
      const labels = { operation_type: operationOf(name) }
      const startedMs = clock.now()
      total.inc(labels)
      try {
        return await connection.call(name, request, options)
      } catch (error) {
        errors.inc(labels)
        if (name === 'runPodSandbox') {
          sandboxErrors.inc(handlerOf(request))
          podErrors.inc()
        }
        throw error
      } finally {
        const seconds = (clock.now() - startedMs) / 1000
        duration.observe(seconds, labels)
        if (name === 'runPodSandbox') sandboxes.observe(seconds, handlerOf(request))
      }
    },
    get channel() {
      return connection.channel
    },
    containerEvents: (...receivers) => connection.containerEvents(...receivers),
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  }
}
