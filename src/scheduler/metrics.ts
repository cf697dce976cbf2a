/** The scheduler's metrics, by upstream's names. */
import { exponentialBuckets, type Metrics } from '#base/metrics.ts'

export type SchedulerMetrics = ReturnType<typeof schedulerMetrics>

export function schedulerMetrics(metrics: Metrics) {
  const attemptSeconds = exponentialBuckets(0.001, 2, 15)
  return {
    attempts: metrics.counter('scheduler_schedule_attempts_total', 'Attempts to schedule pods, by how they ended.'),
    attemptDuration: metrics.histogram(
      'scheduler_scheduling_attempt_duration_seconds',
      'How long an attempt took, binding included.',
      attemptSeconds,
    ),
    algorithmDuration: metrics.histogram(
      'scheduler_scheduling_algorithm_duration_seconds',
      'How long it took to choose a node.',
      attemptSeconds,
    ),
    extensionPointDuration: metrics.histogram(
      'scheduler_framework_extension_point_duration_seconds',
      'How long all plugins of an extension point took.',
      exponentialBuckets(0.0001, 2, 12),
    ),
    pluginDuration: metrics.histogram(
      'scheduler_plugin_execution_duration_seconds',
      'How long one plugin took, by extension point.',
      exponentialBuckets(0.00001, 1.5, 20),
    ),
    eventDuration: metrics.histogram(
      'scheduler_event_handling_duration_seconds',
      'How long the handling of an event took.',
      exponentialBuckets(0.0001, 2, 12),
    ),
    hintDuration: metrics.histogram(
      'scheduler_queueing_hint_execution_duration_seconds',
      'How long a queueing hint of a plugin took.',
      exponentialBuckets(0.00001, 1.5, 20),
    ),
    /** Here nothing runs but turns of one loop; what is counted is what would be. */
    goroutines: metrics.gauge('scheduler_goroutines', 'What runs beside scheduling, such as bindings.'),
    preemptionDuration: metrics.histogram(
      'scheduler_preemption_goroutines_duration_seconds',
      'How long preemption beside scheduling took.',
      exponentialBuckets(0.01, 2, 20),
    ),
    preemptionRuns: metrics.counter(
      'scheduler_preemption_goroutines_execution_total',
      'Preemptions that ran beside scheduling, by how they ended.',
    ),
    attemptsPerPod: metrics.histogram(
      'scheduler_pod_scheduling_attempts',
      'How many attempts it took until a pod was scheduled.',
      exponentialBuckets(1, 2, 5),
    ),
    podDuration: metrics.histogram(
      'scheduler_pod_scheduling_sli_duration_seconds',
      "Time from a pod's coming into the queue until it was bound, all attempts included.",
      exponentialBuckets(0.01, 2, 20),
    ),
    preemptionVictims: metrics.histogram(
      'scheduler_preemption_victims',
      'Pods that one preemption has ended.',
      exponentialBuckets(1, 2, 7),
    ),
    preemptionAttempts: metrics.counter('scheduler_preemption_attempts_total', 'How often pods were to make room for others.'),
    incomingPods: metrics.counter('scheduler_queue_incoming_pods_total', 'Pods that came into a queue, by event and queue.'),
    permitWait: metrics.histogram('scheduler_permit_wait_duration_seconds', 'How long pods waited for permission.', attemptSeconds),
    scheduledAfterFlush: metrics.counter(
      'scheduler_pod_scheduled_after_flush_total',
      'Pods that no event has woken and that fitted all the same when their time was up.',
    ),
    measureUnschedulable: (read: () => Iterable<readonly [{ plugin: string; profile: string }, number]>) =>
      metrics.measured(
        'scheduler_unschedulable_pods',
        'Pods that fit nowhere, by plugin; a pod counts for each plugin that refuses it.',
        read,
      ),
    measurePending: (read: () => { active: number; backoff: number; unschedulable: number; gated: number }) =>
      metrics.measured('scheduler_pending_pods', 'Pods that wait, by queue.', () =>
        Object.entries(read()).map(([queue, count]) => [{ queue }, count] as const),
      ),
    measureEvaluations: (read: () => Iterable<readonly [{ plugin: string; extension_point: string; profile: string }, number]>) =>
      metrics.measured(
        'scheduler_plugin_evaluation_total',
        'How often plugins were asked about pods, by extension point and answer.',
        read,
        'counter',
      ),
    measureInFlight: (read: () => Iterable<readonly [{ event: string }, number]>) =>
      metrics.measured('scheduler_inflight_events', 'Events that the queue remembers.', read),
    measureCache: (read: () => { nodes: number; pods: number; assumed: number }) =>
      metrics.measured('scheduler_cache_size', 'Nodes, pods and assumed pods that the scheduler knows of.', () => {
        const { nodes, pods, assumed } = read()
        return [
          [{ type: 'nodes' }, nodes],
          [{ type: 'pods' }, pods],
          [{ type: 'assumed_pods' }, assumed],
        ] as const
      }),
  }
}
