/** Metrics of work queues, under upstream's names. */
import { largest } from '#base/append.ts'
import { exponentialBuckets, type Metrics } from '#base/metrics.ts'
import type { WorkQueue, WorkQueueObserver } from '#client/work-queue/work-queue.ts'

export class QueueMetrics {
  readonly #metrics: Metrics
  /** Several queues may share a name, as some of upstream's do. */
  readonly #queues = new Map<string, { queue: WorkQueue; nowMs(): number }[]>()
  readonly #adds
  readonly #retries
  readonly #queueSeconds
  readonly #workSeconds

  constructor(metrics: Metrics) {
    this.#metrics = metrics
    const buckets = exponentialBuckets(1e-8, 10, 10)
    this.#adds = metrics.counter('workqueue_adds_total', 'Keys added to the queue')
    this.#retries = metrics.counter('workqueue_retries_total', 'Keys added again after a failure')
    this.#queueSeconds = metrics.histogram('workqueue_queue_duration_seconds', 'How long keys wait in the queue', buckets)
    this.#workSeconds = metrics.histogram('workqueue_work_duration_seconds', 'How long a worker takes for a key', buckets)
    metrics.measured('workqueue_depth', 'Keys in the queue', () => this.#each(({ queue }) => queue.depth))
    metrics.measured('workqueue_unfinished_work_seconds', 'Time spent on keys that are not done', () =>
      this.#each(({ queue, nowMs }) => [...queue.working.values()].reduce((sum, startedMs) => sum + nowMs() - startedMs, 0) / 1000),
    )
    metrics.measured('workqueue_longest_running_processor_seconds', 'How long the slowest worker has been at its key', () =>
      this.#each(
        ({ queue, nowMs }) =>
          largest(
            0,
            [...queue.working.values()].map((startedMs) => nowMs() - startedMs),
          ) / 1000,
      ),
    )
  }

  get metrics(): Metrics {
    return this.#metrics
  }

  observer(name: string): WorkQueueObserver {
    const labels = { name }
    const adds = this.#adds.with(labels)
    const retries = this.#retries.with(labels)
    const queueSeconds = this.#queueSeconds.with(labels)
    const workSeconds = this.#workSeconds.with(labels)
    return {
      added: () => adds.inc(),
      retried: () => retries.inc(),
      taken: (waitedMs) => queueSeconds.observe(waitedMs / 1000),
      done: (workedMs) => workSeconds.observe(workedMs / 1000),
    }
  }

  follow(name: string, queue: WorkQueue, nowMs: () => number): void {
    this.#queues.set(name, [...(this.#queues.get(name) ?? []), { queue, nowMs }])
  }

  #each(read: (entry: { queue: WorkQueue; nowMs(): number }) => number): (readonly [Record<string, string>, number])[] {
    return [...this.#queues].map(([name, entries]) => [{ name }, entries.reduce((sum, entry) => sum + read(entry), 0)] as const)
  }
}
