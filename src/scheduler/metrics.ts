/** The scheduler's metrics, by upstream's names. */
import { exponentialBuckets, type Metrics } from '#base/metrics.ts'

export type SchedulerMetrics = ReturnType<typeof schedulerMetrics>

export function schedulerMetrics(metrics: Metrics) {
  const attemptSeconds = exponentialBuckets(0.001, 2, 15)
  return {
    attempts: metrics.counter(
      'scheduler_schedule_attempts_total',
      "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.",
    ),
    attemptDuration: metrics.histogram(
      'scheduler_scheduling_attempt_duration_seconds',
      'Scheduling attempt latency in seconds (scheduling algorithm + binding)',
      attemptSeconds,
    ),
    algorithmDuration: metrics.histogram(
      'scheduler_scheduling_algorithm_duration_seconds',
      'Scheduling algorithm latency in seconds',
      attemptSeconds,
    ),
    extensionPointDuration: metrics.histogram(
      'scheduler_framework_extension_point_duration_seconds',
      'Latency for running all plugins of a specific extension point.',
      exponentialBuckets(0.0001, 2, 12),
    ),
    pluginDuration: metrics.histogram(
      'scheduler_plugin_execution_duration_seconds',
      'Duration for running a plugin at a specific extension point.',
      exponentialBuckets(0.00001, 1.5, 20),
    ),
    eventDuration: metrics.histogram(
      'scheduler_event_handling_duration_seconds',
      'Event handling latency in seconds.',
      exponentialBuckets(0.0001, 2, 12),
    ),
    hintDuration: metrics.histogram(
      'scheduler_queueing_hint_execution_duration_seconds',
      'Duration for running a queueing hint function of a plugin.',
      exponentialBuckets(0.00001, 1.5, 20),
    ),
    /** Here nothing runs but turns of one loop; what is counted is what would be. */
    goroutines: metrics.gauge('scheduler_goroutines', 'Number of running goroutines split by the work they do such as binding.'),
    preemptionDuration: metrics.histogram(
      'scheduler_preemption_goroutines_duration_seconds',
      'Duration in seconds for running goroutines for the preemption.',
      exponentialBuckets(0.01, 2, 20),
    ),
    preemptionRuns: metrics.counter('scheduler_preemption_goroutines_execution_total', 'Number of preemption goroutines executed.'),
    attemptsPerPod: metrics.histogram(
      'scheduler_pod_scheduling_attempts',
      'Number of attempts to successfully schedule a pod.',
      exponentialBuckets(1, 2, 5),
    ),
    podDuration: metrics.histogram(
      'scheduler_pod_scheduling_sli_duration_seconds',
      'E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve multiple scheduling attempts.',
      exponentialBuckets(0.01, 2, 20),
    ),
    preemptionVictims: metrics.histogram(
      'scheduler_preemption_victims',
      'Number of selected preemption victims',
      exponentialBuckets(1, 2, 7),
    ),
    preemptionAttempts: metrics.counter('scheduler_preemption_attempts_total', 'Total preemption attempts in the cluster till now'),
    incomingPods: metrics.counter(
      'scheduler_queue_incoming_pods_total',
      'Number of pods added to scheduling queues by event and queue type.',
    ),
    permitWait: metrics.histogram('scheduler_permit_wait_duration_seconds', 'Duration of waiting on permit.', attemptSeconds),
    scheduledAfterFlush: metrics.counter(
      'scheduler_pod_scheduled_after_flush_total',
      'Number of pods that were successfully scheduled after being flushed from unschedulablePods due to timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues.',
    ),
    measureUnschedulable: (read: () => Iterable<readonly [{ plugin: string; profile: string }, number]>) =>
      metrics.measured(
        'scheduler_unschedulable_pods',
        'The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that caused it to not schedule and so this metric could be higher than the number of unschedulable pods.',
        read,
      ),
    measurePending: (read: () => { active: number; backoff: number; unschedulable: number; gated: number }) =>
      metrics.measured(
        'scheduler_pending_pods',
        "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because they are gated.",
        () => Object.entries(read()).map(([queue, count]) => [{ queue }, count] as const),
      ),
    measureEvaluations: (read: () => Iterable<readonly [{ plugin: string; extension_point: string; profile: string }, number]>) =>
      metrics.measured(
        'scheduler_plugin_evaluation_total',
        'Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, PreScore, and Score).',
        read,
        'counter',
      ),
    measureInFlight: (read: () => Iterable<readonly [{ event: string }, number]>) =>
      metrics.measured('scheduler_inflight_events', 'Number of events currently tracked in the scheduling queue.', read),
    measureCache: (read: () => { nodes: number; pods: number; assumed: number }) =>
      metrics.measured('scheduler_cache_size', 'Number of nodes, pods, and assumed (bound) pods in the scheduler cache.', () => {
        const { nodes, pods, assumed } = read()
        return [
          [{ type: 'nodes' }, nodes],
          [{ type: 'pods' }, pods],
          [{ type: 'assumed_pods' }, assumed],
        ] as const
      }),
  }
}
